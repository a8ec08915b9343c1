import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import type { Test } from 'tap'
import { createImports, type Import, type Imports } from '../../src/manage/imports.js'
import { DAILY_NAMES, dailyColumns } from '../../src/storage/aggregates/daily-counts.js'
import { SESSION_TABLES } from '../../src/storage/aggregates/session-aggregates.js'
import { listColumnNames } from '../../src/storage/columns.js'
import type { EventStore } from '../../src/storage/event-store.js'
import type { Rows } from '../../src/storage/rows.js'
import { raw, sql } from '../../src/storage/sql.js'
import type { Store } from '../../src/storage/store.js'
import { createImportRemoval } from '../../src/worker/import/undo.js'
import { hashSessionId, type SessionMemory, type SessionReplacement } from '../../src/worker/ingest/session-memory.js'
import { directory } from '../fixtures/files.js'
import { openStore } from '../fixtures/open-store.js'
import { askRead, DAILY_READS, DAY, READS, roundNumbers } from '../fixtures/random-visits.js'
import { openRecordsAt } from '../fixtures/store.js'
import { type DatedFact, type Fact, fetchOf, findMoves, findSessions, knowFacts, toRow } from './import-facts.js'

const MINUTE = 60_000

/** Every row of a site, as text in order. */
async function readSite(store: Pick<Store, 'query'>, site: number): Promise<string[]> {
  const tables = (['events', 'agent_events'] as const).map(async (table) => {
    const columns = listColumnNames(table)
    const rows = await store.query(sql`select ${raw(columns.join(', '))} from ${raw(table)} where site_id = ${site}`)
    return rows.map((row) => `${table} ${JSON.stringify(row)}`)
  })
  return (await Promise.all(tables)).flat().sort()
}

/** Every row of a site in the tables of aggregates. */
async function readSums(store: Pick<Store, 'query'>, site: number): Promise<string[]> {
  const columns = [
    ...Object.entries(SESSION_TABLES).map(([table, types]) => [table, Object.keys(types)] as const),
    ...DAILY_NAMES.map((table) => [table, Object.keys(dailyColumns(table))] as const),
  ]
  const tables = columns.map(async ([table, names]) => {
    const rows = await store.query(sql`select ${raw(names.join(', '))} from ${raw(table)} where site_id = ${site}`)
    return rows.map((row) => `${table} ${JSON.stringify(row)}`)
  })
  return (await Promise.all(tables)).flat().sort()
}

interface World {
  /** The store under test; an interrupted one is opened again. */
  store: EventStore
  imports: Imports
}

/** Stores the facts of a site as they came: live ones, those of imports with the moves that they cause, live ones again. */
async function storeFacts(world: World, site: number, facts: readonly DatedFact[], targets: readonly Date[]) {
  const { imports } = world
  const created = new Map<Fact['part'], Import>()
  let known: DatedFact[] = []
  for (const [stage, part] of (['before', 'first', 'second', 'after'] as const).entries()) {
    const own = facts.filter((fact) => fact.part === part)
    const isImport = part === 'first' || part === 'second'
    if (isImport)
      created.set(
        part,
        await imports.create({ site, source: part, format: null, created_at: new Date(0), total: null }),
      )
    const importId = created.get(part)?.id ?? null
    const before = findSessions(known)
    known = [...known, ...own]
    const now = findSessions(known)
    const moves = findMoves(site, before, now)
    const record = created.get(part)
    if (record)
      for (const { was } of moves)
        await imports.addSessions(
          record,
          was.map(({ id, start, arrival }) => ({ session_id: id, session_start: new Date(start), arrival })),
        )
    const rows: Rows = {
      events: own.flatMap((fact) => {
        const session = now.get(fact)
        return session ? [toRow(site, fact, session, importId)] : []
      }),
      agent_events: own.filter(({ kind }) => kind === 'view').map((fact) => fetchOf(site, fact, importId)),
    }
    await world.store.append(rows, undefined, { moves: moves.map(({ was: _, ...move }) => move) })
    const target = targets[stage]
    if (target) await world.store.aggregate(target)
  }
  return created
}

/** Stores the facts of these parts alone, as if nothing else had ever been there. Imports have their ids. */
async function storeOnly(
  store: EventStore,
  site: number,
  facts: readonly DatedFact[],
  created: ReadonlyMap<Fact['part'], Import>,
) {
  const sessions = findSessions(facts)
  const idOf = ({ part }: DatedFact) => created.get(part)?.id ?? null
  await store.append({
    events: [...sessions].map(([fact, session]) => toRow(site, fact, session, idOf(fact))),
    agent_events: facts.filter(({ kind }) => kind === 'view').map((fact) => fetchOf(site, fact, idOf(fact))),
  })
}

const createUndo = ({ store, imports }: World, rows_per_step = 3, replace: SessionMemory['replace'] = () => {}) =>
  createImportRemoval({
    ...{ store, imports, rows_per_step, sessions: { replace }, writer: { runExclusive: (work) => work() } },
    now: () => Date.parse('2026-01-10T00:00:00Z'),
  })

const fact: fc.Arbitrary<Fact> = fc.record({
  ...{ person: fc.nat(1), minute: fc.nat(400), path: fc.nat(2), source: fc.nat(2), engaged: fc.nat(40) },
  kind: fc.constantFrom<Fact['kind'][]>('view', 'view', 'view', 'report', 'aside'),
  part: fc.constantFrom<Fact['part'][]>('before', 'before', 'first', 'first', 'second', 'after'),
})

const fail = (why: string, found: unknown, expected: unknown) => {
  throw new Error(`${why}\nfound ${JSON.stringify(found, null, 1)}\nexpected ${JSON.stringify(expected, null, 1)}`)
}
const compare = (why: string, found: readonly string[], expected: readonly string[]) => {
  const [missing, more] = [
    expected.filter((row) => !found.includes(row)),
    found.filter((row) => !expected.includes(row)),
  ]
  if (missing.length + more.length > 0 || found.length !== expected.length) fail(why, more, missing)
}

/**
 * Live hits from 22:00 and, after 40 minutes, from 22:50 on; a log with one before the first, one between and one alone. The
 * last live view continues its visit only because of a report, which says that the page before was read until then.
 */
const EXAMPLE = knowFacts(
  (
    [
      ['before', 'view', 60, 0, 0],
      ['before', 'view', 70, 1, 1],
      ['before', 'aside', 70, 1, 1],
      ['before', 'view', 110, 2, 2],
      ['first', 'view', 45, 0, 1],
      ['first', 'view', 90, 1, 0],
      ['first', 'view', 178, 2, 2],
      ['before', 'report', 72, 1, 0],
      ['before', 'view', 141, 0, 0],
      ['before', 'report', 145, 2, 0],
    ] as const
  ).map(([part, kind, minute, path, source]) => ({ ...{ part, kind, minute, path, source }, person: 0, engaged: 20 })),
  Date.parse('2026-01-09T00:00:00Z'),
)

async function openWorld(t: Test, store: EventStore): Promise<World> {
  const records = await openRecordsAt(directory(t))
  t.teardown(() => records.close())
  return { store, imports: createImports(records, randomBytes) }
}

/**
 * Undoing an import fails at each of its statements once, and the program starts again: at last, rows and aggregates are
 * those without it. `reopen` opens the store; it calls `onWrite` before each statement that writes.
 */
export async function interruptedUndo(t: Test, reopen: (onWrite: () => void) => Promise<EventStore>): Promise<void> {
  let [writes, failAt, interruptions] = [0, Number.POSITIVE_INFINITY, 0]
  const onWrite = () => {
    if (++writes >= failAt) throw new Error('interrupted')
  }
  const world = await openWorld(t, await reopen(onWrite))
  const expected = await openStore(t)
  const left = EXAMPLE.filter(({ part }) => part === 'before')
  const end = new Date('2026-01-12T00:00:00Z')
  await storeOnly(expected, 1, left, new Map())
  await expected.aggregate(end)
  const created = await storeFacts(world, 1, EXAMPLE, [end, end])
  const id = created.get('first')?.id ?? 0
  for (let more = true; more; ) {
    failAt = writes + 1 + (interruptions % 12)
    try {
      ;({ more } = await createUndo(world, 3)({ site: 1, import: id }))
    } catch {
      failAt = Number.POSITIVE_INFINITY
      interruptions++
      await world.store.close()
      world.store = await reopen(onWrite)
      // No hit of a session that is there is lost or counted twice.
      const query = `site=1&start=2026-01-09T00:00:00Z&end=2026-01-12T00:00:00Z`
      const rows = await world.store.query(sql`select count(*) as n from events where kind = 'pageview'`)
      const answer = await askRead(world.store, +end, 'overview', query)
      t.match(answer, { data: { pageviews: rows[0]?.n } }, `interrupted ${interruptions}`)
    }
    failAt = Number.POSITIVE_INFINITY
  }
  await world.store.aggregate(end)
  t.same(await readSite(world.store, 1), await readSite(expected, 1))
  t.same(await readSums(world.store, 1), await readSums(expected, 1))
  t.ok(interruptions > 7, `${interruptions} interruptions`)
  await world.store.close()
}

/** An import that is undone leaves the rows, answers and aggregates of a store that never had it. */
export function undoContract(t: Test, open: (t: Test) => Promise<EventStore>, runs: number): void {
  t.test('a session that an import has joined and prolonged is two again', async (t) => {
    const world = await openWorld(t, await open(t))
    const created = await storeFacts(world, 1, EXAMPLE, [])
    const listRows = () =>
      world.store.query(sql`select pathname, session_start, entry_page, source, count(*) as n from events
        group by pathname, session_start, entry_page, source order by pathname, session_start`)
    const row = (pathname: string, start: string, [entry_page, source]: [string, string | null]) => ({
      ...{ pathname, session_start: new Date(`2026-01-09T${start}Z`), entry_page, source, n: 1 },
    })
    const joined: [string, null] = ['/3', null]
    t.strictSame(
      await listRows(),
      [
        { ...row('/0', '21:45:00.004', joined), n: 2 },
        { ...row('/1', '21:45:00.004', joined), n: 3 },
        { ...row('/2', '21:45:00.004', joined), n: 2 },
        row('/3', '21:45:00.004', joined),
        row('/4', '21:45:00.004', joined),
        row('/5', '23:58:00.006', ['/5', 'x.example']),
      ],
      'with the import, from its first hit on; a session of its own',
    )
    const replaced: SessionReplacement[] = []
    const undo = createUndo(world, 100, (changes) => replaced.push(...changes))
    t.same(await undo({ site: 2, import: 1 }), { rows: 0, more: false }, 'not of this site')
    t.same(await undo({ site: 1, import: created.get('first')?.id }), { rows: 6, more: false })
    t.strictSame(
      await listRows(),
      [
        row('/0', '22:00:00.000', ['/0', 'Bing']),
        row('/0', '22:50:00.003', ['/2', 'x.example']),
        { ...row('/1', '22:00:00.000', ['/0', 'Bing']), n: 3 },
        { ...row('/2', '22:50:00.003', ['/2', 'x.example']), n: 2 },
      ],
      'without it',
    )
    const id = (time: string) => hashSessionId(100n, Date.parse(`2026-01-09T${time}Z`))
    t.match(
      replaced.sort((a, b) => Number(a.now === undefined) - Number(b.now === undefined)),
      [
        {
          was: id('21:45:00.004'),
          now: { session_id: id('22:50:00.003'), last_seen: new Date('2026-01-09T23:25:00.009Z') },
        },
        { visitor_id: 100n, was: id('23:58:00.006'), now: undefined },
      ],
      'memory gets the session that is left of the last one, or none',
    )
  })

  t.test('without an import, everything is as if it had never been', async (t) => {
    const world = await openWorld(t, await open(t))
    const expected = await openStore(t)
    const questions = [...READS, ...DAILY_READS]
    let [site, base, sessions] = [0, Date.parse('2026-01-01T00:00:00Z'), 0]
    await fc.assert(
      fc.asyncProperty(
        fc.array(fact, { minLength: 8, maxLength: 40 }),
        fc.boolean(),
        fc.array(fc.nat(60), { minLength: 4, maxLength: 4 }),
        fc.array(fc.nat(questions.length - 1), { minLength: 2, maxLength: 2 }),
        async (given, isAlone, hours, asked) => {
          site += 1
          base += 8 * DAY
          // With one import the arrival of each session is known; with others, and hits after it, its entry page is.
          const of = isAlone ? ['before', 'first'] : ['before', 'first', 'second', 'after']
          const facts = knowFacts(
            given.filter(({ part }) => of.includes(part)).map((one) => (isAlone ? one : { ...one, source: 1 })),
            base,
          )
          const targets = hours.map((hour) => new Date(base + (12 + hour) * 60 * MINUTE))
          const created = await storeFacts(world, site, facts, targets)
          let left = facts
          for (const [part, { id }] of created) {
            left = left.filter((one) => one.part !== part)
            sessions += new Set(findSessions(left).values()).size
            const undo = createUndo(world)
            while ((await undo({ site, import: id })).more);
            await world.imports.delete({ site, id })
            await storeOnly(expected, 1_000 * site + id, left, created)
            const rows = (await readSite(expected, 1_000 * site + id)).map((row) =>
              row.replace(`"site_id":${1_000 * site + id}`, `"site_id":${site}`),
            )
            compare(`rows without import ${part}`, await readSite(world.store, site), rows.sort())
            for (const question of asked) {
              const [path = '', own = ''] = (questions[question] ?? '').split('?')
              const query = (of: number) =>
                `site=${of}&start=${new Date(base).toISOString()}&end=${new Date(base + 3 * DAY).toISOString()}&${own}`
              const found = roundNumbers(await askRead(world.store, base + 4 * DAY, path, query(site)))
              const plain = roundNumbers(await askRead(expected, base + 4 * DAY, path, query(1_000 * site + id)))
              if (JSON.stringify(found) !== JSON.stringify(plain)) fail(`${path}?${own}`, found, plain)
            }
          }
          const end = new Date(base + 5 * DAY)
          await world.store.aggregate(end)
          await storeOnly(expected, site, left, created)
          await expected.aggregate(end)
          compare('aggregates', await readSums(world.store, site), await readSums(expected, site))
        },
      ),
      {
        numRuns: runs,
        seed: Number(process.env.UNDO_SEED ?? 20261124),
        endOnFailure: process.env.UNDO_SHRINK === undefined,
      },
    )
    t.ok(sessions > 3 * runs, `${sessions} sessions`)
    for (const table of ['stale_sessions', 'daily_changed'])
      t.match(await world.store.query(sql`select count(*) as n from ${raw(table)}`), [{ n: 0 }], table)
  })
}
