import type { ClickHouseClient } from '@clickhouse/client'
import { DAY_MS } from '../../base/time-units.js'
import { type AggregateTracker, createAggregateTracker, startOfDay } from '../aggregates/aggregation.js'
import { DAILY_NAMES } from '../aggregates/daily-counts.js'
import { COHORT_COLUMNS, PRIOR_COLUMNS, SESSION_TABLES } from '../aggregates/session-aggregates.js'
import { clickhouseDialect } from '../dialects/clickhouse.js'
import { isIn, join, raw, type Sql, sql } from '../sql.js'
import type { AggregateMarks } from './aggregate-marks.js'
import { aggregateStep, readAggregatedUntil } from './aggregate-step.js'
import { type AggregateWriter, BEGINNING_OF_TIME, deleteOlder } from './aggregate-writer.js'
import { dailyStep, readCountedUntil, recountDays } from './daily-step.js'
import { readRows } from './query.js'
import { erase } from './removal.js'
import { type AggregateTable, aggregateColumns, aggregateKey } from './schema.js'
import { insertRows, isOneOf, runWrite } from './statements.js'

const SESSION_NAMES = ['sessions', 'session_pages'] as const
/** Later than any stored row, and within the range of `DateTime64`. */
const END_OF_TIME = new Date('2299-01-01T00:00:00Z')

/** The aggregates as their only writer changes them. No two calls run at the same time, nor one beside an append. */
export interface Aggregates {
  readonly marks: AggregateMarks
  /** Call it once after opening: no writer that was taken over can move from now on how far aggregation is. */
  takeOver(): Promise<void>
  /** Takes one bounded step towards a moment; returns whether another has something to do. */
  step(target: Date): Promise<boolean>
}

/** Opens the aggregates. `takeNumber` gives the number of a new change, higher than any before. */
export async function openAggregates(client: ClickHouseClient, takeNumber: () => Promise<bigint>): Promise<Aggregates> {
  const writer: AggregateWriter = {
    select: (query) => readRows(client, query),
    run: (statement) => runWrite(client, statement),
    takeNumber,
  }
  const progress = { aggregatedUntil: await readAggregatedUntil(writer), countedUntil: await readCountedUntil(writer) }
  const tracker = createAggregateTracker(progress, { aggregateStep, dailyStep })
  return {
    marks: createMarks({ client, writer, tracker }),
    async takeOver() {
      // Also if nothing is aggregated: the first step of a writer that was taken over must not count either.
      const { aggregatedUntil = BEGINNING_OF_TIME, countedUntil = BEGINNING_OF_TIME } = tracker.progress()
      const number = await takeNumber()
      await writer.run(sql`insert into aggregated_until (started, ver) select ${aggregatedUntil}, ${number}`)
      await writer.run(sql`insert into daily_aggregated_until (day, ver) select ${countedUntil}, ${number}`)
    },
    step: async (target) => (await tracker.step(writer, target)).more,
  }
}

interface Parts {
  client: ClickHouseClient
  writer: AggregateWriter
  tracker: AggregateTracker<AggregateWriter>
}

function createMarks(parts: Parts): AggregateMarks {
  const { client, writer, tracker } = parts
  const markStale = (where: Sql, number: bigint): Promise<void> => {
    const { aggregatedUntil } = tracker.progress()
    if (aggregatedUntil === undefined) return Promise.resolve()
    return writer.run(sql`insert into stale_sessions (site_id, session_id, session_start, ver)
      select distinct e.site_id, e.session_id, e.session_start, ${number} from events e
      where e.session_start < ${aggregatedUntil} and (${where})`)
  }
  const markDays = (table: 'events' | 'agent_events', where: Sql, number: bigint): Promise<void> => {
    const { countedUntil } = tracker.progress()
    if (countedUntil === undefined) return Promise.resolve()
    return writer.run(sql`insert into daily_changed (site_id, day, ver)
      select distinct e.site_id, date_trunc('day', e.timestamp), ${number} from ${raw(table)} e
      where e.timestamp < ${countedUntil} and (${where})`)
  }
  const insertStale = (sessions: ReturnType<typeof tracker.findStale>, number: bigint) =>
    insertRows(client, {
      table: 'stale_sessions',
      columns: ['site_id', 'session_id', 'session_start', 'ver'],
      values: sessions.map((one) => [one.site_id, String(one.session_id), one.session_start, String(number)]),
    })
  const insertDays = (days: ReturnType<typeof tracker.findChangedDays>, number: bigint) =>
    insertRows(client, {
      table: 'daily_changed',
      columns: ['site_id', 'day', 'ver'],
      values: days.map(({ site_id, day }) => [site_id, day, String(number)]),
    })
  return {
    async ofCommit(events, agent_events, { moves = [], placements = [], additions = [] }, number) {
      await insertStale(tracker.findStale(events, { moves, placements }), number)
      if (additions.length > 0) await markStale(areViews(additions.map(({ to }) => to)), number)
      await insertDays(tracker.findChangedDays({ events, agent_events }, { moves }), number)
    },
    ofVerdicts: (verdicts, number) => insertDays(tracker.findChangedDays({}, { verdicts }), number),
    ofFetches: (where, number) => markDays('agent_events', where, number),
    ofEvents: markStale,
    async removePerson(site, { visitors, sessions, others, where }, number) {
      const touched = sql`site_id = ${site} and ${isOneOf(raw('session_id'), sessions)}`
      const own = sql`site_id = ${site} and ${isOneOf(raw('visitor_id'), visitors)}`
      for (const table of SESSION_NAMES) await deleteOlder(writer, table, number, sql`(${touched} or ${own})`)
      await deleteEntries(writer, 'stale_sessions', number, touched)
      await markDays('events', sql`(${where}) and e.kind = 'pageview'`, number)
      // After the deletions, whose keys some of these have.
      if (others.length > 0)
        await markStale(sql`e.site_id = ${site} and ${isOneOf(raw('e.visitor_id'), others)}`, await writer.takeNumber())
    },
    async removeImport({ site, import: id, before, splits }, leaving, number) {
      const sessions = sql`select e.session_id from ${leaving}`
      const isTouched = sql`e.site_id = ${site} and e.session_id in (${sessions})`
      await markStale(
        sql`e.site_id = ${site} and e.visitor_id in (select e.visitor_id from events e where ${isTouched})
          and (e.import_id is distinct from ${id} or e.session_start >= ${before})`,
        number,
      )
      const { aggregatedUntil = BEGINNING_OF_TIME } = tracker.progress()
      const stale = splits.filter(({ to }) => to.session_start < aggregatedUntil)
      await insertStale(
        stale.map(({ to }) => ({ site_id: site, session_id: to.session_id, session_start: to.session_start })),
        number,
      )
      await markDays('events', sql`${isTouched} and e.kind = 'pageview'`, number)
      await markDays(
        'agent_events',
        sql`e.site_id = ${site} and e.import_id = ${id} and e.timestamp < ${before}`,
        number,
      )
      for (const table of SESSION_NAMES)
        await deleteOlder(writer, table, number, sql`site_id = ${site} and session_id in (${sessions})`)
    },
    removeBefore: (site, end) => removeBefore(parts, site, end),
    assign: (sites, end, number) => assign(parts, sites, end ?? END_OF_TIME, number),
    erase: (site) => eraseAggregates(parts, site),
  }
}

/** The condition that an event is one of these views, or happened to the same visitor at the same time. */
function areViews(views: readonly { site_id: number; visitor_id: bigint; timestamp: Date }[]): Sql {
  const times = views.map(({ timestamp }) => timestamp.getTime())
  const [first, last] = [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))]
  const rows = views.map(({ site_id, visitor_id, timestamp }) => ({ site_id, visitor_id, timestamp }))
  const listed = clickhouseDialect.rows(rows, { site_id: 'integer', visitor_id: 'ubigint', timestamp: 'timestamp' })
  const sites = isIn(raw('e.site_id'), [...new Set(views.map(({ site_id }) => site_id))])
  return sql`${sites} and e.timestamp between ${new Date(first)} and ${new Date(last)}
    and (e.site_id, e.visitor_id, e.timestamp) in (select site_id, visitor_id, timestamp from ${listed} a)`
}

const ENTRY_KEYS = { stale_sessions: 'site_id, session_id, session_start', daily_changed: 'site_id, day' } as const
type EntryTable = keyof typeof ENTRY_KEYS

/** Deletes entries of `stale_sessions` or `daily_changed`. */
function deleteEntries({ run }: AggregateWriter, table: EntryTable, number: bigint, where: Sql): Promise<void> {
  const key = raw(ENTRY_KEYS[table])
  return run(sql`insert into ${raw(table)} (${key}, ver, is_deleted)
    select ${key}, ${number}, 1 from ${raw(table)} where ver < ${number} and ${where}`)
}

async function removeBefore({ client, writer, tracker }: Parts, site: number, end: Date): Promise<void> {
  const limit = end < END_OF_TIME ? end : END_OF_TIME
  // A stale session that became part of an earlier one is still aggregated under its old start.
  const stale = sql`select count(*) as n from stale_sessions where site_id = ${site} and session_start < ${limit}`
  while (Number((await writer.select(stale))[0]?.n) > 0 && tracker.progress().aggregatedUntil)
    await tracker.refreshStale(writer)
  const number = await writer.takeNumber()
  await markCutDays({ client, writer, tracker }, [site], limit, number)
  for (const table of SESSION_NAMES)
    await deleteOlder(writer, table, number, sql`site_id = ${site} and started < ${limit}`)
  for (const table of DAILY_NAMES)
    await deleteOlder(writer, table, number, sql`site_id = ${site} and day < ${startOfDay(limit)}`)
  await deleteEntries(writer, 'daily_changed', number, sql`site_id = ${site} and day < ${startOfDay(limit)}`)
  await clearPriors(writer, 'sessions', site, limit, number)
  await clearPriors(writer, 'session_pages', site, limit, number)
}

/** The remaining sessions have no session before `end` any more. */
function clearPriors(
  { run }: AggregateWriter,
  table: (typeof SESSION_NAMES)[number],
  site: number,
  end: Date,
  number: bigint,
): Promise<void> {
  const cleared = table === 'sessions' ? [...PRIOR_COLUMNS, 'previous'] : ['prior']
  const columns = Object.keys(SESSION_TABLES[table])
  const selected = columns.map((column) => {
    if (cleared.includes(column)) return sql`case when s.${raw(column)} >= ${end} then s.${raw(column)} end`
    return raw(column === COHORT_COLUMNS[0] ? 'coalesce(f.first, s.first_seen)' : `s.${column}`)
  })
  const affected = join(
    [
      ...cleared.map((column) => sql`s.${raw(column)} < ${end}`),
      ...(table === 'sessions' ? [raw('f.first is not null')] : []),
    ],
    ' or ',
  )
  const firsts = sql`left join (
    select visitor_id, min(started) as first from sessions where site_id = ${site} and started >= ${end}
    group by visitor_id having min(first_seen) < ${end}) f on f.visitor_id = s.visitor_id`
  return run(sql`insert into ${raw(table)} (${raw(columns.join(', '))}, ver)
    select ${join(selected, ', ')}, ${number} from ${raw(table)} s ${table === 'sessions' ? firsts : raw('')}
    where s.site_id = ${site} and s.started >= ${end} and (${affected})`)
}

/**
 * Marks the counted days that lose a part of their rows if what began before `end` leaves these sites, of which the first
 * has it now: the day of `end`, and later ones to which such sessions last.
 */
async function markCutDays(
  { client, writer, tracker }: Parts,
  sites: readonly number[],
  end: Date,
  number: bigint,
): Promise<void> {
  const { countedUntil } = tracker.progress()
  const from = startOfDay(end)
  if (countedUntil === undefined || from >= countedUntil) return
  const [row] = await writer.select(
    sql`select max(timestamp) as last from events where site_id = ${sites[0] ?? 0} and session_start < ${end}`,
  )
  const last = row?.last instanceof Date && row.last > end ? row.last : end
  const values: unknown[][] = []
  for (let day = from; day <= last && day < countedUntil; day = new Date(day.getTime() + DAY_MS))
    for (const site of sites) values.push([site, day, String(number)])
  await insertRows(client, { table: 'daily_changed', columns: ['site_id', 'day', 'ver'], values })
}

/** Gives the aggregates of what began before `end` to another site. */
async function assign(
  parts: Parts,
  { from, to }: { from: number; to: number },
  end: Date,
  number: bigint,
): Promise<void> {
  const { writer } = parts
  await markCutDays(parts, [from, to], end, number)
  const copy = async (table: AggregateTable | EntryTable, columns: readonly string[], where: Sql) => {
    const selected = columns.map((column) => (column === 'site_id' ? sql`${to}` : raw(column)))
    await writer.run(sql`insert into ${raw(table)} (${raw(columns.join(', '))}, ver)
      select ${join(selected, ', ')}, ${number} from ${raw(table)} where ${where}`)
  }
  const move = async (table: AggregateTable, where: Sql) => {
    await copy(table, Object.keys(aggregateColumns(table)), where)
    await deleteOlder(writer, table, number, where)
  }
  const moveEntries = async (table: EntryTable, where: Sql) => {
    await copy(table, ENTRY_KEYS[table].split(', '), where)
    await deleteEntries(writer, table, number, where)
  }
  for (const table of SESSION_NAMES) await move(table, sql`site_id = ${from} and started < ${end}`)
  await moveEntries('stale_sessions', sql`site_id = ${from} and session_start < ${end}`)
  for (const table of DAILY_NAMES) await move(table, sql`site_id = ${from} and day < ${startOfDay(end)}`)
  await moveEntries('daily_changed', sql`site_id = ${from} and day < ${startOfDay(end)}`)
}

/** Counts the changed days of a site again and erases every outdated or deleted row of its aggregates from the disk. */
async function eraseAggregates({ client, writer }: Parts, site: number): Promise<void> {
  const changed = await writer.select(sql`select day from daily_changed where site_id = ${site} order by day`)
  for (const { day } of changed) {
    if (!(day instanceof Date)) continue
    const number = await writer.takeNumber()
    await recountDays(writer, number, { from: day, until: new Date(day.getTime() + DAY_MS), sites: [site] })
    await deleteEntries(writer, 'daily_changed', number, sql`site_id = ${site} and day = ${day}`)
  }
  const keys = new Map<string, string>([
    ...[...SESSION_NAMES, ...DAILY_NAMES].map((table) => [table, aggregateKey(table).join(', ')] as const),
    ...Object.entries(ENTRY_KEYS),
  ])
  for (const [table, columns] of keys) {
    // Null is not a member of a list.
    const key = raw(columns.replace('assistant', "isNull(assistant), ifNull(assistant, '')"))
    await erase(
      client,
      table,
      sql`site_id = ${site} and (${key}, ver) not in (
        select ${key}, max(ver) from ${raw(table)} where site_id = ${site} group by ${key})`,
    )
    // Not in one statement: the engine rewrites part after part, and asks again for each. A part with an older version, rewritten
    // after the part that says that it is deleted, would keep it.
    await erase(client, table, sql`site_id = ${site} and is_deleted = 1`)
  }
  await erase(client, 'step_sessions', sql`site_id = ${site}`)
}
