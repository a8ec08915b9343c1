import { readdirSync } from 'node:fs'
import t from 'tap'
import { z } from 'zod'
import { AUDIENCES, DIMENSIONS } from '../../../src/analytics/query/dimensions.js'
import { prepareRead, runRead } from '../../../src/analytics/query/prepare-read.js'
import { reads } from '../../../src/analytics/reads/index.js'
import { ApiError } from '../../../src/base/errors.js'
import { clickhouseDialect } from '../../../src/storage/dialects/clickhouse.js'
import type { Rows } from '../../../src/storage/rows.js'
import { compile, type Sql } from '../../../src/storage/sql.js'
import type { ResultRow } from '../../../src/storage/store.js'
import { openStore } from '../../fixtures/open-store.js'
import { agentRow } from '../../fixtures/rows.js'
import { NOW, WORLD } from '../../fixtures/world.js'
import { asker, DAY, deps, filters, is, WORDS } from './world-reads.js'

const ask = await asker(WORLD)

t.test('meta echoes the query in canonical names', async (t) => {
  const asked = filters([{ dimension: 'page', op: 'startsWith', value: '/' }])
  const { meta } = await ask('stats/pages', `${DAY}&compare=previous&utm=x${asked}`)
  t.strictSame(meta, {
    query: {
      ...{ site: 1, range: 'yesterday', start: '2026-10-24T22:00:00.000Z', end: '2026-10-25T23:00:00.000Z' },
      ...{ compare: 'previous', tz: 'Europe/Berlin', granularity: 'hour', audience: 'human', limit: 50, page: 1 },
      filters: [{ dimension: 'pathname', op: 'starts_with', value: '/' }],
    },
    ...{ rows: 2, sampled: false, took_ms: 0, total: 2, limit: 50, page: 1 },
    comparison: { start: '2026-10-23T21:00:00.000Z', end: '2026-10-24T22:00:00.000Z' },
    recorded: { since: '2026-10-24T10:00:00.000Z', gaps: [], comparison: [] },
    warnings: [
      {
        ...{ metric: 'visitors', code: 'salt_rotated_in_window' },
        message: 'Visitor ids change every day: a person seen in two of these periods is counted twice.',
      },
    ],
  })
  const all = await ask('stats/overview', 'site=1&range=all')
  t.match(all.meta.query, { start: '2026-10-24T10:00:00.000Z', end: NOW.toISOString() }, "from the site's first row")
  t.match((await ask('stats/overview', 'site=2&range=all')).meta.query, { start: '2026-10-25T05:00:00.000Z' })
  const given = await ask('stats/overview', 'site=1&range=7d&start=2026-10-25T00:00:00Z&end=2026-10-25T06:00:00Z')
  t.notOk('range' in given.meta.query, 'start and end win')
  t.notOk(given.meta.warnings, 'one day, one salt')
  const since = await ask('stats/overview', 'site=1&range=7d&start=2026-10-26T00:00:00Z')
  t.notOk('range' in since.meta.query, 'start alone wins too: the window ends now')
  const until = await ask('stats/overview', 'site=1&range=7d&end=2026-10-26T00:00:00Z')
  t.match(until.meta.query, { range: '7d' }, 'of end alone the range is measured back')
  t.match((await ask('stats/pages', 'site=1&range=today')).meta.warnings, [
    { metric: 'visitors', code: 'salt_rotated_in_window' },
    { metric: 'time_on_page', code: 'no_engagement_data' },
    { metric: 'scroll_depth', code: 'no_engagement_data' },
  ])
})

t.test('every read returns its declared shape for every audience', async (t) => {
  const alone = await asker({
    events: WORLD.events.filter((row) => row.site_id === 2),
    agent_events: WORLD.agent_events.filter((row) => row.site_id === 2),
  })
  for (const read of reads) {
    const path = read.path.slice('/api/'.length)
    // Visits and reads do not add up to one change.
    for (const audience of AUDIENCES.filter(
      (one) => one !== 'all' || !['stats/changes', 'stats/hours'].includes(path),
    )) {
      const query = `audience=${audience}&range=7d&dimension=pathname&steps=/&compare=previous`
      const { data, meta } = await ask(path, `site=1&${query}`)
      const parsed = z.strictObject({ data: read.data }).safeParse({ data })
      t.ok(parsed.success, `${path}, ${audience}: data has the shape it declares ${parsed.error ?? ''}`)
      t.notMatch(JSON.stringify(data), /[:[,]null/, 'absent, never null')
      t.match(meta, { query: Object, rows: Number, sampled: false, took_ms: Number })
      const [both, other] = [await ask(path, `site=2&${query}`), await alone(path, `site=2&${query}`)]
      t.strictSame(both, other, 'the same where the first site does not exist')
    }
    if (read.staticResult) continue
    await t.rejects(ask(path, ''), { code: 'validation_error', field: 'site' })
    await t.rejects(ask(path, 'site=3&dimension=pathname&steps=/'), { code: 'not_found' }, 'a site that is not there')
    await t.rejects(ask(path, `${DAY}&range=1y`), { code: 'validation_error', field: 'range' })
    await t.rejects(ask(path, 'site=1&range=1y'), { code: 'validation_error', field: 'range' })
    await t.rejects(ask(path, `${DAY}&dimension=pathname&steps=/&segment=mine`), {
      code: 'not_found',
      field: 'segment',
    })
    await t.rejects(
      ask(path, 'site=2&dimension=pathname&steps=/&segment=german'),
      { code: 'not_found', field: 'segment' },
      "another site's",
    )
    const bad = filters([is('constructor', 'x')])
    await t.rejects(ask(path, `${DAY}&dimension=pathname${bad}`), { code: 'validation_error', field: 'filters' })
  }
  const files = readdirSync('src/analytics/reads', { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  )
  const shared = ['index.ts', 'shapes.ts']
  const paths = files
    .filter((file) => !shared.includes(file))
    .map((file) => `/api/${file.replace('.ts', '')}`.replace(/\/id$/, '/{id}'))
  t.strictSame(new Set(reads.map(({ path }) => path)), new Set(paths), 'a read lies where its URL says')
})

t.test('every list can be read to its end in parts, as an export does', async (t) => {
  const store = await openStore(t)
  await store.append(WORLD)
  for (const read of reads.filter(({ list }) => list)) {
    const audience = 'only' in read.audience ? read.audience.only : 'human'
    const query = `site=1&range=7d&dimension=pathname&audience=${audience}&compare=previous`
    const parts: unknown[] = []
    const prepared = await prepareRead(read, new URLSearchParams(query), { ...deps, store }, WORDS)
    for await (const { data } of prepared.stream(store, 2)) parts.push(data)
    const { data } = await runRead(read, new URLSearchParams(query), { ...deps, store }, WORDS)
    if (Array.isArray(data)) t.strictSame(parts.flat(), data, read.path)
    else t.ok(parts.length > 0, read.path)
  }
})

t.test('an invalid pattern is a validation error', async (t) => {
  for (const pattern of ['(', '[', '*', '(?P<x', 'a{1001}', '\\1', '(?=a)', 'x'.repeat(490) + '('.repeat(9)]) {
    const query = `${DAY}${filters([{ not: { dimension: 'pathname', op: 'matches', value: ['ok', pattern] } }])}`
    const error = await ask('stats/overview', query).catch((error: unknown) => error)
    t.match(error, { code: 'validation_error', field: 'filters' }, pattern.slice(0, 20))
    t.notMatch(String(error), /select|regexp|\$1/i, 'without SQL')
  }
  const broken = {
    ...deps,
    store: { dialect: clickhouseDialect, query: async () => Promise.reject(new ApiError('database_error', 'x')) },
  }
  const [read] = reads
  const query = new URLSearchParams(`${DAY}${filters([{ dimension: 'pathname', op: 'matches', value: 'x' }])}`)
  if (read)
    await t.rejects(
      runRead(read, query, broken),
      { code: 'database_error' },
      'a fault of ours is not a fault of theirs',
    )
})

t.test('reads run with another dialect, without DuckDB words', async (t) => {
  const asked: string[] = []
  const store = {
    dialect: clickhouseDialect,
    async query(q: Sql): Promise<ResultRow[]> {
      asked.push(compile(q, clickhouseDialect.placeholder).text)
      return []
    },
  }
  const texts = DIMENSIONS.filter((d) => d.type === 'text' && d.tables.length === 2).map((d) => d.name)
  const ops = ['is', 'contains', 'starts_with', 'ends_with', 'matches', 'matches_wildcard_not', 'is_set']
  const both = filters(texts.flatMap((dimension) => ops.map((op) => ({ dimension, op, value: 'x' }))))
  const people = filters([
    is('exit_page', 'x'),
    is('prop:x', 'x'),
    { has_done: { dimension: 'prop:n', op: 'gt', value: 1 } },
  ])
  for (const read of reads) {
    for (const query of [
      'audience=human',
      'audience=agent',
      'audience=all',
      `audience=all${both}`,
      `audience=human${people}`,
    ]) {
      if (query.includes(people) && 'only' in read.audience) continue
      const envelope = `site=1&range=90d&granularity=month&compare=year&dimension=pathname&steps=/&${query}`
      // The audience is not allowed, or an empty store does not have the session.
      const refused = (error: unknown) => t.match(error, { code: /validation_error|not_found/, field: /audience|id/ })
      await runRead(read, new URLSearchParams(envelope), { ...deps, store }, WORDS).catch(refused)
    }
  }
  t.ok(asked.length > 60, 'they were asked')
  const duckdb =
    /arg_m|starts_with\(|ends_with\(|contains\(|regexp_|epoch_ms|to_milli|json_|\btry|quantile_cont|::|\$\d|\/\//
  for (const text of new Set(asked)) t.notMatch(text, duckdb)
})

t.test('policy returns the recorded policy and the response headers of pages', async (t) => {
  const store = await openStore(t)
  const fetched = (given: Partial<Rows['agent_events'][number]>) => agentRow({ hostname: 'one.example', ...given })
  await store.append({
    events: [],
    agent_events: [
      fetched({ pathname: '/a', status: 200, x_robots_tag: 'noai', timestamp: new Date(NOW.getTime() - 2_000) }),
      fetched({ pathname: '/a', status: 404, x_robots_tag: 'noai', timestamp: new Date(NOW.getTime() - 1_000) }),
      fetched({ pathname: '/b', status: 200, content_usage: 'train-ai=n', timestamp: new Date(NOW.getTime() - 1_000) }),
      fetched({ pathname: '/b', status: 403, action: 'block', rule: 1, timestamp: new Date(NOW.getTime() - 500) }),
      fetched({ pathname: '/c', status: 200, timestamp: new Date(NOW.getTime() - 1_000) }),
      fetched({ pathname: '/a', hostname: 'www.one.example', x_robots_tag: 'x', timestamp: NOW }),
      fetched({ pathname: '/a', site_id: 2, x_robots_tag: 'theirs', timestamp: NOW }),
    ],
  })
  const instant = NOW.toISOString()
  const head = { url: 'http://one.example/', status: 200, standing: 'served', fetched_at: instant, first_seen: instant }
  const link = (url: string, offsite = false) => ({ title: url, url, offsite })
  const asked: unknown[] = []
  const policy = async (site: number, question: object) => {
    asked.push({ site, ...question })
    const links = [link('https://one.example/a'), link('https://one.example/b'), link('https://x.example/a', true)]
    return {
      hostnames: ['one.example'],
      hostname: 'one.example',
      robots: { ...head, groups: [], sitemaps: [], problems: [] },
      llms: { ...head, sections: [{ name: 'Docs', optional: false, links }], problems: [] },
      agents: [
        { agent_id: 'gptbot', robots_token: 'GPTBot', group: ['*'], allowed: true, reason: 'no_rule', rules: 0 },
      ],
      path: '/x',
      versions: [],
    }
  }
  const read = reads.find((each) => each.path === '/api/policy')
  if (!read) throw new Error('there is no read of the policy')
  const query = new URLSearchParams('site=1&range=7d&agent_id=gptbot&path=/x&hostname=one.example')
  const { data, meta } = await runRead(read, query, { ...deps, store, policy })
  t.strictSame(asked, [{ site: 1, agent_id: 'gptbot', path: '/x', hostname: 'one.example' }])
  t.equal(meta.rows, 1)
  t.match(data, {
    llms: { sections: [{ links: [{ last_status: 404 }, { last_status: 200 }, { offsite: true }] }] },
    headers: [
      { pathname: '/a', x_robots_tag: 'noai', fetches: 2 },
      { pathname: '/b', content_usage: 'train-ai=n', fetches: 1 },
    ],
  })
  t.notMatch(JSON.stringify(data), /theirs|:null/, "nothing of another site's, and nothing null")
})
