import t from 'tap'
import { z } from 'zod'
import { eventRow } from '../../fixtures/rows.js'
import { NOW, sampleService } from '../../fixtures/sample.js'

const SLOW = { timeout: 110_000 }
const Failure = z.object({ error: z.object({ code: z.string(), message: z.string(), field: z.string() }) })
/** Sentences of the library that checks values: they name its types, and not what to write. */
const VALIDATORS_WORDS =
  /Invalid (?:input|option|key|string)|expected \w+, received|Too (?:big|small)|Unrecognized|nonoptional/

const { operator, commit } = await sampleService(t)
const anHourAgo = new Date(NOW.getTime() - 3_600_000)
await commit({
  events: [eventRow({ timestamp: anHourAgo, os: 'macOS', country: 'DE', hostname: 'slackwater.example' })],
})
const filters = (value: unknown) => `filters=${encodeURIComponent(JSON.stringify(value))}`

t.test('what people of other tools write is refused with what to write here', SLOW, async (t) => {
  const rows: [query: string, field: string, message: RegExp][] = [
    [
      'pages?range=28d',
      'range',
      /^range "28d": must be one of today, .*; for other days, write start and end, such as start=2026-11-01&end=2026-11-28\.$/,
    ],
    ['pages?range=14d', 'range', /^range "14d": must be one of/],
    ['pages?range=7days', 'range', /did you mean 7d\?/],
    ['pages?range=2026-11-01,2026-11-28', 'range', /write start and end, such as/],
    ['pages?start=2026-11-31', 'start', /^start "2026-11-31": the day 2026-11-31 does not exist; /],
    ['pages?end=2026-02-30T00:00:00Z', 'end', /the day 2026-02-30 does not exist/],
    [
      'pages?start=2026-11-10T00:00:00',
      'start',
      /has no time zone; write 2026-11-10T00:00:00Z for UTC, or with an offset 2026-11-10T00:00:00\+01:00\.$/,
    ],
    ['pages?start=1763632800000', 'start', /is a number; write 2025-11-20T10:00:00\.000Z/],
    ['pages?compare=previous_period', 'compare', /must be one of none, previous, year/],
    ['pages?granularity=daily', 'granularity', /must be one of minute, hour, day, week, month/],
    ['pages?tz=GMT%2B1', 'tz', /IANA time zone such as Europe\/Berlin/],
    ['pages?period=30d', 'period', /write range, such as range=30d/],
    ['pages?date_range=7d', 'date_range', /write range/],
    ['pages?timezone=Europe/Berlin', 'timezone', /write tz/],
    ['pages?unit=day', 'unit', /write granularity/],
    ['pages?site_id=1', 'site_id', /write site, such as site=1/],
    ['pages?url=/pricing', 'url', /write filters=\[\{"dimension":"pathname","op":"is","value":"\/pricing"\}\]/],
    ['timeseries?metric=visitors,pageviews', 'metric', /name one, such as visitors/],
    ['timeseries?metric=visit_duration', 'metric', /write duration\.$/],
    ['timeseries?metric=bounce_rate', 'metric', /write bounce\.$/],
    ['timeseries?metric=xyz', 'metric', /the metrics are visitors, sessions, /],
    ['breakdown?dimension=url', 'dimension', /write pathname\.$/],
    ['breakdown?dimension=pagePath', 'dimension', /write pathname\.$/],
    ['breakdown?dimension=pathname,country', 'dimension', /name one, such as pathname\.$/],
    [
      `pages?${filters([{ dimension: 'url', op: 'is', value: '/' }])}`,
      'filters',
      /Unknown dimension "url"; write pathname\.$/,
    ],
    [
      `pages?${filters([{ dimension: 'pathname', op: '~', value: 'a' }])}`,
      'filters',
      /"~"; write contains, or matches/,
    ],
    [
      `pages?${filters([{ dimension: 'pathname', op: '??', value: 'a' }])}`,
      'filters',
      /the operators are is, is_not, /,
    ],
    [
      `pages?${filters({ url: '/pricing' })}`,
      'filters',
      /write \{"dimension":"pathname","op":"is","value":"\/pricing"\}\.$/,
    ],
    [
      `pages?${filters([{ name: 'url', operator: 'neq', value: '/a' }])}`,
      'filters',
      /^filters\[0\] must have dimension, .*write \{"dimension":"pathname","op":"is_not","value":"\/a"\}\.$/,
    ],
    [
      `pages?${filters([['is', 'visit:country', ['DE', 'AT']]])}`,
      'filters',
      /^filters\[0\] must be a filter object: write \{"dimension":"country","op":"is","value":\["DE","AT"\]\}\.$/,
    ],
    [
      `pages?${filters(['contains', 'event:page', ['/blog']])}`,
      'filters',
      /^filters must be .*"op":"contains","value":\["\/blog"\]/,
    ],
    [
      `pages?${filters([['and', [['is', 'visit:country', ['DE']]]]])}`,
      'filters',
      /write \{"and": …\} and not \["and", …\]/,
    ],
    ['pages?filters=event:page==/blog;visit:country==DE', 'filters', /^filters must be JSON, such as \[\{"dimension"/],
    [`pages?${filters([{ dimension: 7, op: 'is', value: 'a' }])}`, 'filters', /must have dimension, op/],
    [
      `pages?${filters([{ dimension: 'pathname', op: 'is', value: 'a', foo: 1 }])}`,
      'filters',
      /must have dimension, op/,
    ],
    [`pages?${filters([{ and: 'x' }])}`, 'filters', /must be a list of filters, such as \{"and":\[\{/],
    ['pages?limit=many', 'limit', /must be a whole number/],
    ['journeys?depth=99', 'depth', /must be from 2 to 8/],
    ['pages?audience=bots', 'audience', /must be one of human, agent, all/],
    ['pages?segment=', 'segment', /must not be empty/],
  ]
  for (const [query, field, message] of rows) {
    const response = await operator(`/api/stats/${query.replace('?', '?site=1&')}`)
    t.equal(response.status, 422, query)
    const { error } = Failure.parse(await response.json())
    t.equal(error.field, field, query)
    t.match(error.message, message, query)
    t.notMatch(error.message, VALIDATORS_WORDS, query)
  }
})

t.test('a value that no row has gives a warning with the nearest that exists', SLOW, async (t) => {
  const Answer = z.object({
    meta: z.object({
      warnings: z
        .array(
          z.object({
            code: z.string(),
            message: z.string(),
            dimension: z.string().optional(),
            value: z.string().optional(),
            nearest: z.string().optional(),
          }),
        )
        .optional(),
    }),
  })
  const one = (dimension: string, value: unknown, op = 'is') => [{ dimension, op, value }]
  type Expected = { dimension: string; value: string; nearest?: string } | undefined
  const rows: [read: string, filter: unknown, expected: Expected, why: string][] = [
    [
      'pages',
      one('country', 'Germany'),
      { dimension: 'country', value: 'Germany', nearest: 'DE' },
      'by its English name',
    ],
    [
      'overview',
      one('country', 'Norwegen'),
      { dimension: 'country', value: 'Norwegen', nearest: 'NO' },
      'by its German name',
    ],
    [
      'overview',
      one('browser', 'chrome'),
      { dimension: 'browser', value: 'chrome', nearest: 'Chrome' },
      'another case',
    ],
    ['timeseries', one('os', 'Mac OS X'), { dimension: 'os', value: 'Mac OS X', nearest: 'macOS' }, 'a longer name'],
    [
      'sources',
      one('visit:device', 'Mobile'),
      { dimension: 'device_type', value: 'Mobile', nearest: 'mobile' },
      'an alias',
    ],
    [
      'pages',
      one('pathname', '/articles/slack-watter'),
      { dimension: 'pathname', value: '/articles/slack-watter', nearest: '/articles/slack-water' },
      'mistyped',
    ],
    ['pages', one('country', 'ZZ'), { dimension: 'country', value: 'ZZ' }, 'nothing is near'],
    [
      'pages',
      [{ and: one('browser', ['chrome', 'opera']) }],
      { dimension: 'browser', value: 'chrome', nearest: 'Chrome' },
      'in a group',
    ],
    ['pages', one('country', 'DE'), undefined, 'it exists'],
    ['pages', one('country', ['Aa', 'Bb', 'Cc', 'Dd']), undefined, 'a program wrote so many'],
    ['pages', one('country', ['DE', 'Germany']), undefined, 'one of two exists'],
    ['pages', [...one('country', 'DE'), ...one('event_name', 'x', 'is_not')], undefined, 'not empty'],
    ['pages', [...one('country', 'NO'), ...one('os', 'macOS')], undefined, 'both exist, but not together'],
    ['pages', one('country', 'Germany', 'is_not'), undefined, 'the answer is not empty'],
  ]
  for (const [read, filter, expected, why] of rows) {
    const { meta } = Answer.parse(await (await operator(`/api/stats/${read}?site=1&${filters(filter)}`)).json())
    const found = meta.warnings?.find(({ code }) => code === 'no_such_value')
    t.same(
      found && { ...found, message: undefined },
      expected && { code: 'no_such_value', message: undefined, ...expected },
      `${read}: ${why}`,
    )
  }
  const messages: [query: string, message: RegExp, why: string][] = [
    ['stats/pages?site=1&audience=agent&', /^No row of agents in this window has the country "DE"; /, 'people have it'],
    ['stats/pages?site=1&', /^No row of people in this window has the country "XX"; /, 'named likewise'],
    [
      'stats/timeseries?site=1&metric=visitors&audience=all&',
      /^No row in this window has the country "XX"; /,
      'neither',
    ],
  ]
  for (const [query, message, why] of messages) {
    const asked = one('country', message.source.includes('DE') ? 'DE' : 'XX')
    const { meta } = Answer.parse(await (await operator(`/api/${query}${filters(asked)}`)).json())
    t.match(meta.warnings?.find(({ code }) => code === 'no_such_value')?.message, message, `${query} ${why}`)
  }
  const agents = await operator(`/api/agents/overview?site=1&${filters(one('operator', 'openai'))}`)
  const { meta } = Answer.parse(await agents.json())
  t.match(
    meta.warnings?.find(({ code }) => code === 'no_such_value'),
    { dimension: 'operator', nearest: 'OpenAI' },
  )
})
