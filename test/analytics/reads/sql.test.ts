import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { type ReadDependencies, runRead } from '../../../src/analytics/query/prepare-read.js'
import { formatStatement } from '../../../src/analytics/query/statement.js'
import { reads } from '../../../src/analytics/reads/index.js'
import { duckdbDialect } from '../../../src/storage/dialects/duckdb.js'
import { raw, type Sql, sql } from '../../../src/storage/sql.js'
import { assertEqual } from '../../fixtures/assert-equal.js'
import { openStore } from '../../fixtures/open-store.js'
import { editionRow } from '../../fixtures/rows.js'
import { WORLD } from '../../fixtures/world.js'

/**
 * Each read's SQL for one fixed plan, in `test/analytics/reads/sql/<path>.sql`. `npm run sql` rewrites the files; a change of a
 * read's SQL then shows as a readable difference.
 */
const FOLDER = fileURLToPath(new URL('../../../../test/analytics/reads/sql/', import.meta.url))
const UPDATE = process.argv.includes('--update')
const QUERY = new URLSearchParams({
  site: '1',
  start: '2026-10-24T22:00:00Z',
  end: '2026-10-26T12:00:00Z',
  granularity: 'day',
  limit: '10',
  filters: JSON.stringify([{ dimension: 'country', op: 'is', value: 'US' }]),
})
/** Parameters without which a read is refused, or leaves statements out. */
const MORE: Readonly<Record<string, Record<string, string>>> = {
  '/api/stats/breakdown': { dimension: 'country' },
  '/api/agents/breakdown': { dimension: 'operator' },
  '/api/stats/performance': { dimension: 'pathname' },
  '/api/stats/journeys/steps': { steps: '["/","/docs"]' },
  '/api/policy': { path: '/docs' },
  '/api/stats/funnel/{id}': { step: '2' },
  '/api/bill': { operator: 'OpenAI' },
}
const WORDS: Readonly<Record<string, Record<string, string>>> = {
  '/api/stats/funnel/{id}': { id: '1' },
  '/api/stats/sessions/{id}': { id: '0000000000000001' },
}
const page = { type: 'page' as const, match: { op: 'starts_with', value: '/docs' } }
const signup = { type: 'event' as const, match: { op: 'is', value: 'signup' } }

const store = await openStore(t)
await store.append({
  ...WORLD,
  events: WORLD.events.map((row) => ({ ...row, hostname: 'example.com' })),
})
await store.aggregate(new Date('2026-10-25T12:00:00Z'))
await store.query(sql`insert into sitemap_urls values ('example.com', '/docs', null)`)
await store.writePageEditions({ put: [editionRow({ first_seen: new Date('2026-10-25T08:00:00Z') })], remove: [] })
const dependencies: Omit<ReadDependencies, 'store'> = {
  now: () => new Date('2026-10-26T12:00:00Z'),
  site: async (id) => ({ id, timezone: 'Europe/Berlin', visitor_salt: 'month', owns: () => true }),
  segment: async () => undefined,
  goals: async () => [{ id: 1, name: 'Signed up', ...signup, revenue: { property: 'price', currency: 'EUR' } }],
  funnel: async () => ({
    id: 1,
    name: 'Docs to sign-up',
    window_minutes: 60,
    steps: [
      { label: 'Docs', ...page },
      { label: 'Signed up', ...signup },
    ],
  }),
  // Long before the window, so that there is a time to compare with.
  recording: async () => ({ since: new Date('2026-10-01T00:00:00Z'), gaps: [] }),
  catalog: [],
  assistants: [{ source: 'chatgpt.com', operator: 'OpenAI' }],
  policyVersions: async () => ({
    hostname: 'example.com',
    versions: [
      {
        ...{ kind: 'robots', since: '2026-10-20T00:00:00.000Z', standing: 'served', status: 200 },
        targets: [{ title: 'Docs', pathname: '/docs', section: 'Read' }],
      },
    ],
  }),
  policy: async () => ({ hostnames: ['example.com'], hostname: 'example.com', agents: [], versions: [], path: '/' }),
}

const fileOf = (path: string) => `${path.replace('/api/', '').replace(/[{}]/g, '')}.sql`
const dynamic = reads.filter((read) => read.staticResult === undefined)
for (const read of dynamic) {
  t.test(read.path, async (t) => {
    const statements: Sql[] = []
    const onStatement = (statement: Sql) => statements.push(statement)
    const query = new URLSearchParams([...QUERY, ...Object.entries(MORE[read.path] ?? {})])
    await runRead(read, query, { ...dependencies, store, onStatement }, WORDS[read.path])
    t.ok(statements.length > 0, 'it runs SQL')
    const text = foldTwins(statements.map(formatStatement)).join('\n')
    const file = join(FOLDER, fileOf(read.path))
    if (UPDATE) {
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
    }
    t.equal(existsSync(file) ? readFileSync(file, 'utf8') : '', text, 'its file is up to date: npm run sql')
    for (const statement of statements) {
      const sorted = async (query: Sql) => (await store.query(query)).map((row) => serialise(row)).toSorted()
      assertEqual(
        t,
        await sorted(raw(formatStatement(statement))),
        await sorted(statement),
        'the text selects the same',
      )
    }
  })
}

t.test('every file belongs to a read', async (t) => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.sql'))
  t.strictSame(files.toSorted(), dynamic.map(({ path }) => fileOf(path)).toSorted())
})

t.test('values become literals that cannot end', async (t) => {
  const hostile = "'; drop table events; --"
  for (const value of [hostile, "it''s", 'ü\n🦆', 7, 1.5, true, null, new Date('2026-10-25T00:30:00Z')]) {
    const [row] = await store.query(raw(formatStatement(sql`select ${value} as value`)))
    const [same] = await store.query(sql`select ${value} as value`)
    t.equal(String(row?.value), String(same?.value), `${value}`)
  }
  t.equal(formatStatement(sql`select ${hostile} as value`), "select '''; drop table events; --' as value")
  t.equal(duckdbDialect.placeholder(1, 7), '$1::BIGINT', 'statements that run keep their values apart')
})

/** Writes a statement that differs from one before it by a single name in one line, which says the two names. */
function foldTwins(texts: readonly string[]): string[] {
  const wordsOf = (text: string) => text.split(/(?=\W)|(?<=\W)|\s+/).filter((word) => word.trim() !== '')
  return texts.map((text, i) => {
    const words = wordsOf(text)
    for (const [j, earlier] of texts.slice(0, i).map(wordsOf).entries()) {
      const at = earlier.findIndex((word, n) => word !== words[n])
      const [from, to] = [earlier[at], words[at]]
      if (from && to && earlier.map((word) => (word === from ? to : word)).join(' ') === words.join(' '))
        return `/* ${path(text)}: statement ${j + 1} with ${to} instead of ${from} */\n`
    }
    return `${text};\n`
  })
}

/** The path in the comment that a statement begins with. */
const path = (text: string) => text.match(/^\/\* (\S+)/)?.[1] ?? ''

const serialise = (row: unknown): string =>
  JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? String(value) : value))
