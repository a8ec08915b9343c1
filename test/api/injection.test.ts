import t from 'tap'
import { z } from 'zod'
import { audiencesWith, DIMENSIONS } from '../../src/analytics/query/dimensions.js'
import type { Read } from '../../src/analytics/query/read.js'
import { reads } from '../../src/analytics/reads/index.js'
import { sql } from '../../src/storage/sql.js'
import { fillPathIds, sampleRows, sampleService } from '../fixtures/sample.js'

/** A text that is in no row. */
const HARMLESS = 'zq7'
/**
 * Texts that change a query if a part of them is read as SQL, as a pattern, as a path or as a template. No row contains them.
 * An attacker sends them at every place where a read takes text: filters, parameters, paths and segments. Each read has to
 * answer exactly as for a harmless text that is in no row: no error, no other rows, and the text itself only where a read
 * echoes its query.
 */
const ATTEMPTS = [
  "'",
  "''",
  '"',
  '\\',
  "\\'",
  "' or '1'='1",
  "' or 1=1 --",
  '" or ""="',
  "'; drop table events; --",
  "'); delete from agent_events; --",
  "' union select secret from keys --",
  "zq' || (select pathname from events limit 1) || '",
  "x' and 1=cast((select count(*) from events) as varchar) --",
  '/* */ or true',
  '-- ',
  '$1',
  '?',
  ':x',
  '{{7*7}}',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a template literal in plain text
  '${7*7}',
  '%',
  '_',
  '%%27%20or%201=1',
  '[a-z]',
  "e'\\x27'",
  'ʼ or 1=1',
  '＇ or 1=1',
  '$.*',
  '$."plan"',
  'plan" or "1"="1',
  "plan'] || ['x",
  "read_csv('/etc/passwd')",
  "';copy events to '/tmp/readership-stolen.csv';--",
  "';attach '/tmp/readership-stolen.duckdb';--",
  'pragma database_list',
] as const

const Answered = z.object({ data: z.unknown() })
/** Without `goal`: its values are names of the site's goals, and others are refused. */
const TEXTS = DIMENSIONS.filter(({ type, name }) => type === 'text' && name !== 'goal')
const OPERATORS = ['is', 'contains', 'starts_with', 'ends_with', 'matches_wildcard'] as const
/** The text as a regular expression that matches itself only. */
const plain = (text: string) => text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&')
/** The text without wildcards, which filters have of their own. */
const literal = (text: string) => text.replaceAll('*', '')

/** Conditions with the texts at every place of a filter that takes text; none of them should match. */
function conditions(read: Read, texts: readonly string[]): object[] {
  const audience = 'only' in read.audience ? read.audience.only : read.audience.default
  const known = TEXTS.filter((d) => audiencesWith(d).includes(audience))
  return [
    ...known.map(({ name }, i) => {
      const op = OPERATORS[i % OPERATORS.length] ?? 'is'
      return { dimension: name, op, value: texts.map(literal) }
    }),
    { dimension: 'pathname', op: 'is', value: texts },
    { dimension: 'pathname', op: 'contains', value: texts, case_sensitive: false },
    { dimension: 'pathname', op: 'matches', value: texts.map(plain) },
    ...(audience === 'human' ? [{ dimension: 'prop:plan', op: 'is', value: texts }] : []),
  ]
}
const properties = (text: string): object[] => [
  { dimension: `prop:${text}`, op: 'is_set' },
  { dimension: `prop:${text}`, op: 'is', value: text },
  { dimension: `prop:${text}`, op: 'gt', value: 0 },
]
const encoded = (value: unknown) => encodeURIComponent(typeof value === 'string' ? value : JSON.stringify(value))

t.test('values of queries never become SQL, patterns or paths', { timeout: 300_000 }, async (t) => {
  const { ask, workerClient, logged, makeRecords } = await sampleService(t)
  await makeRecords()
  const counts = async () =>
    (
      await workerClient.events.query(sql`
      select (select count(*) from events) as people, (select count(*) from agent_events) as agents`)
    )[0]
  const before = await counts()
  const { events, agent_events } = sampleRows()
  t.same(before, { people: events.length, agents: agent_events.length })

  const answered = async (path: string) => {
    const { status, body } = await ask(path)
    // The text is echoed where a read repeats its query.
    return { status, data: status === 200 ? JSON.stringify(Answered.parse(body).data) : '' }
  }
  /** The expected answers: those for a harmless text, by place. */
  const expected = new Map<string, Awaited<ReturnType<typeof answered>>>()
  const same = async (read: Read, text: string, name: string, urlOf: (text: string) => string) => {
    const url = urlOf(HARMLESS)
    const known = expected.get(url) ?? (await answered(url))
    expected.set(url, known)
    const found = await answered(urlOf(text))
    const echoed = JSON.stringify(text).slice(1, -1)
    t.same(
      [found.status, found.data],
      [known.status, known.data.replaceAll(HARMLESS, () => echoed)],
      `${read.path}: ${name} ${text}`,
    )
    if (![200, 404].includes(found.status)) t.fail(`${read.path}: ${name} ${text}: ${found.status}`)
  }

  for (const [turn, read] of reads.filter(({ query }) => 'site' in query).entries()) {
    const { query, path } = read
    // Each text is tried alone on a sixth of the reads, and with the others on all reads.
    const attempts = ATTEMPTS.filter((_, i) => path.endsWith('/overview') || (i + turn) % 6 === 0)
    const needed = `${'dimension' in query ? '&dimension=pathname' : ''}${'steps' in query ? '&steps=/glossary' : ''}`
    // A change needs rows in the window before, too.
    const base = `${fillPathIds(path)}?site=1&range=${path.endsWith('changes') ? '7d' : '90d'}${needed}`
    const everything = await answered(base)
    const nothing = await answered(`${base}&filters=${encoded([{ or: conditions(read, [HARMLESS]) }])}`)
    // A single session and a policy are returned whole, realtime has few rows, no agent of the sample read llms.txt, and a
    // summary of editions counts pages, which few filters are about.
    const hasAll = /\{id\}|\/policy(?:\/versions)?$|realtime$|llms-links$|editions\/summary$/.test(path)
    if (!hasAll) t.not(nothing.data, everything.data, `${path}: the harmless text finds nothing`)
    const human = !('only' in read.audience) && read.audience.default === 'human'
    const all = await answered(`${base}&filters=${encoded([{ or: conditions(read, ATTEMPTS) }])}`)
    t.same(all, nothing, `${path}: all of them in filters`)
    if (human) {
      const of = (texts: readonly string[]) => encoded([{ or: texts.flatMap((text) => properties(text).slice(1, 2)) }])
      const every = await answered(`${base}&filters=${of(ATTEMPTS)}`)
      t.same(every, await answered(`${base}&filters=${of([HARMLESS])}`), `${path}: all of them as properties`)
    }
    for (const text of attempts) {
      if (path.endsWith('/overview')) {
        const each = (word: string) => [...conditions(read, [word]), ...(human ? properties(word) : [])]
        await same(read, text, 'in filters', (word) => `${base}&filters=${encoded([{ or: each(word) }])}`)
      }
      const word = encoded(text)
      for (const name of ['dimension', 'metric', 'order', 'tz', 'range', 'granularity', 'audience', 'limit', 'site'])
        if (name in query && (await ask(`${base.replace(`${name}=`, 'x=')}&${name}=${word}`)).status !== 422)
          t.fail(`${path}: ${name} ${text} is taken`)
      for (const name of ['operator', 'hostname', 'agent_id', 'name', 'property', 'segment'])
        if (name in query) await same(read, text, name, (word) => `${base}&${name}=${encoded(word)}`)
      if (path === '/api/policy') await same(read, text, 'path', (word) => `${base}&path=${encoded(`/${word}`)}`)
      if (path.endsWith('journeys')) await same(read, text, 'start', (word) => `${base}&start=${encoded(`/${word}`)}`)
      if ('steps' in query) await same(read, text, 'steps', (word) => base.replace('/glossary', encoded(`/${word}`)))
      if ('dimension' in query && !('only' in read.audience))
        await same(read, text, 'dimension', (word) => `${base.replace('pathname', encoded(`prop:${word}`))}`)
      if (path.includes('{'))
        t.equal(
          (await ask(`${path.replace(/\{\w+\}/, word.replaceAll('.', '%2e'))}?site=1`)).status,
          404,
          `${path}: ${text}`,
        )
    }
    for (const part of ['dimension', 'op', 'value']) {
      const refused = attempts.map(async (text) => {
        const condition = { dimension: part === 'value' ? 'goal' : 'pathname', op: 'is', value: 'x', [part]: text }
        return (await ask(`${base}&filters=${encoded([condition])}`)).status
      })
      t.same(
        [...new Set(await Promise.all(refused))],
        [422],
        `${path}: ${part} of a filter, where only known ones are taken`,
      )
    }
  }
  t.same(await counts(), before, 'every row is still there')
  t.same(logged, [], 'nothing was our own fault')
})
