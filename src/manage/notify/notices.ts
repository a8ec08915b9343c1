import { z } from 'zod'
import { DAY_MS } from '../../base/time-units.js'
import { join, type Sql, sql } from '../../storage/sql.js'
import type { Records } from '../../storage/store.js'
import type { Alert } from '../alerts.js'
import { StoredChannel } from '../channels.js'
import type { WithId } from '../collection.js'
import { JsonText, toApiFields } from '../fields.js'

/** Something to be delivered once, to one recipient. */
export interface NewNotice {
  /** Unique: of two notices with the same key one is stored, and receivers recognise a repeated delivery by it. */
  readonly key: string
  readonly site: number
  /** The alert or report that it comes from, or the site whose changed pages it names. */
  readonly source: { readonly alert: number } | { readonly report: number } | { readonly site: number }
  readonly channel: z.output<typeof StoredChannel>
  /** Stored as JSON; the sender of its kind parses it. */
  readonly payload: unknown
}

/** The result of one attempt; no further attempt is made after a `permanent` failure. */
export type AttemptResult =
  | { readonly delivered: true }
  | {
      readonly delivered: false
      readonly error: string
      readonly permanent?: boolean
      readonly retry_after_ms?: number
    }

const STATES = ['waiting', 'sending', 'done', 'failed'] as const

/** A delivery as the API shows it. */
export const DeliveryStatus = z.object({
  id: z.int(),
  key: z
    .string()
    .describe('The value of `x-service-delivery`: the same for every attempt; an IndexNow ping names its host in it.'),
  channel: StoredChannel,
  state: z.enum(STATES),
  attempts: z.int(),
  created_at: z.iso.datetime(),
  next_at: z.iso.datetime().optional().describe('When the next attempt is due, while it is waiting.'),
  done_at: z.iso.datetime().optional().describe('When it was delivered or given up.'),
  last_error: z.string().optional().describe('The error of the last failed attempt.'),
})
export type DeliveryStatus = z.infer<typeof DeliveryStatus>

const StoredNotice = z.object({
  id: z.number(),
  key: z.string(),
  site: z.number(),
  alert: z.number().nullable(),
  report: z.number().nullable(),
  channel: JsonText.pipe(StoredChannel),
  payload: JsonText,
  attempts: z.number(),
})
/** A notice that is being delivered; `attempts` includes the current one. */
export type Notice = z.output<typeof StoredNotice>

const StoredDelivery = z
  .object({
    id: z.number(),
    key: z.string(),
    channel: JsonText.pipe(StoredChannel),
    state: z.enum(STATES),
    attempts: z.number(),
    created_at: z.date(),
    next_at: z.date().nullable(),
    done_at: z.date().nullable(),
    last_error: z.string().nullable(),
  })
  .transform((row): DeliveryStatus => toApiFields({ ...row, next_at: row.state === 'waiting' ? row.next_at : null }))

const RETENTION_DAYS = 30
const MAX_FINISHED_PER_SITE = 1_000
/** Bounds the attempts that run at once, so that a receiver that hangs does not hold up the others. */
const MAX_PER_SITE_AND_RECEIVER = 2
const MAX_PER_RECEIVER = 4
const MAX_PER_SITE = 8
const MAX_ERROR_CHARACTERS = 300

/** The time from each failed attempt to the next. */
const ATTEMPT_DELAYS_MS = [0, 30_000, 120_000, 600_000, 3_600_000, 21_600_000] as const
export const MAX_ATTEMPTS = ATTEMPT_DELAYS_MS.length
/** Bounds a receiver's `Retry-After`. */
const MAX_RETRY_AFTER_MS = DAY_MS

/** Returns the time until the attempt after `attempts` failed ones, up to a tenth sooner or later so that retries spread out. */
export function retryDelayMs(attempts: number, random: () => number, retry_after_ms = 0): number {
  const delay = (ATTEMPT_DELAYS_MS[attempts] ?? 0) * (0.9 + 0.2 * random())
  return Math.round(Math.max(delay, Math.min(retry_after_ms, MAX_RETRY_AFTER_MS)))
}

/** Returns the server that a delivery keeps busy: a webhook's host, or the mail server for all mail. */
const receiverName = ({ type, target }: z.output<typeof StoredChannel>): string => {
  if (type === 'email') return 'mail'
  return URL.canParse(target) ? new URL(target).host : target
}

/** Returns the statements that queue a notice, for the transaction of what it reports. */
export function noticeStatements({ key, site, source, channel, payload }: NewNotice, at: Date): Sql[] {
  const alert = 'alert' in source ? source.alert : null
  const report = 'report' in source ? source.report : null
  const isNew = sql`kind = 'notices' and not exists (select 1 from notices where key = ${key})`
  return [
    sql`update last_ids set id = id + 1 where ${isNew}`,
    sql`insert into notices (id, key, site, alert, report, channel, receiver, payload, created_at, attempts, next_at, state)
      select id, ${key}, ${site}, ${alert}, ${report}, ${JSON.stringify(channel)}, ${receiverName(channel)},
        ${JSON.stringify(payload)}, ${at}, 0, ${at}, 'waiting'
      from last_ids where ${isNew}`,
  ]
}

/** Returns the statements that queue an event of an alert for each of its channels; `name` makes the keys unique. */
export const alertNoticeStatements = (alert: WithId<Alert>, name: string, payload: unknown, at: Date): Sql[] =>
  alert.channels.flatMap((channel, i) => {
    const key = `${name}:${i + 1}`
    return noticeStatements({ key, site: alert.site, source: { alert: alert.id }, channel, payload }, at)
  })

const sqlList = (ids: readonly number[]): Sql =>
  join(
    ids.map((id) => sql`${id}`),
    ', ',
  )

const DueNotice = z.object({ id: z.number(), site: z.number(), receiver: z.string(), nth: z.number() })

/**
 * Returns the ids of the deliveries to start, at most `limit`. `nth` counts a site's due deliveries to one receiver from 1;
 * it is 0 for those that are running.
 */
function pickFairly(all: readonly z.output<typeof DueNotice>[], limit: number): number[] {
  const counts = new Map<string, number>()
  const picked: number[] = []
  for (const { id, site, receiver, nth } of all) {
    const bounds: [name: string, max: number][] = [
      [`${site} ${receiver}`, MAX_PER_SITE_AND_RECEIVER],
      [` ${receiver}`, MAX_PER_RECEIVER],
      [`${site}`, MAX_PER_SITE],
    ]
    const fits = picked.length < limit && bounds.every(([name, max]) => (counts.get(name) ?? 0) < max)
    if (nth > 0 && !fits) continue
    for (const [name] of bounds) counts.set(name, (counts.get(name) ?? 0) + 1)
    if (nth > 0) picked.push(id)
  }
  return picked
}

const isFrom = (source: NewNotice['source']): Sql => {
  if ('site' in source) return sql`site = ${source.site} and alert is null and report is null`
  return 'alert' in source ? sql`alert = ${source.alert}` : sql`report = ${source.report}`
}

/** Returns the columns of a notice after an attempt. */
function resultColumns({ attempts }: Notice, result: AttemptResult, now: Date, random: () => number): Sql {
  if (result.delivered) return sql`state = 'done', done_at = ${now}, last_error = null`
  const error = result.error.slice(0, MAX_ERROR_CHARACTERS)
  if (result.permanent || attempts >= MAX_ATTEMPTS)
    return sql`state = 'failed', done_at = ${now}, last_error = ${error}`
  const next = new Date(now.getTime() + retryDelayMs(attempts, random, result.retry_after_ms))
  return sql`state = 'waiting', next_at = ${next}, last_error = ${error}`
}

export type Outbox = ReturnType<typeof createOutbox>

/** The queue of deliveries in `control.duckdb`: it outlives the process. */
export function createOutbox({ records, random }: { records: Records; random: () => number }) {
  return {
    /** Makes deliveries due again that count as running but are not among `active`: a crash or a fault cut them off. */
    async recover(now: Date, active: readonly number[]): Promise<void> {
      const rows = await records.query(sql`select id from notices where state = 'sending'`)
      const interrupted = rows.map(({ id }) => Number(id)).filter((id) => !active.includes(id))
      if (interrupted.length === 0) return
      const ids = sqlList(interrupted)
      await records.write(
        sql`update notices set state = 'failed', done_at = ${now}, last_error = 'the last attempt was interrupted'
          where id in (${ids}) and attempts >= ${MAX_ATTEMPTS}`,
        sql`update notices set state = 'waiting', next_at = ${now} where id in (${ids}) and attempts < ${MAX_ATTEMPTS}`,
      )
    },

    /** Returns at most `limit` due deliveries, shared fairly among sites and receivers, and marks them as running. */
    async take(now: Date, limit: number): Promise<readonly Notice[]> {
      const rows = await records.query(sql`
        select id, site, receiver, nth from (
          select *, row_number() over (partition by site, receiver order by next_at, id) as nth
          from notices where state = 'waiting' and next_at <= ${now}) due
        where nth <= ${MAX_PER_SITE_AND_RECEIVER}
        union all select id, site, receiver, 0 from notices where state = 'sending'
        order by nth, id`)
      const picked = pickFairly(z.array(DueNotice).parse(rows), limit)
      if (picked.length === 0) return []
      const ids = sqlList(picked)
      const due = (
        await records.query(
          sql`select id, key, site, alert, report, channel, payload, attempts from notices where id in (${ids}) order by next_at, id`,
        )
      ).map((row) => StoredNotice.parse(row))
      // Counted before the attempt: a delivery that kills the process is not tried for ever.
      await records.write(sql`update notices set state = 'sending', attempts = attempts + 1 where id in (${ids})`)
      return due.map((notice) => ({ ...notice, attempts: notice.attempts + 1 }))
    },

    /** Writes the result of an attempt. */
    saveResult: (notice: Notice, result: AttemptResult, now: Date): Promise<void> =>
      records.write(sql`update notices set ${resultColumns(notice, result, now, random)} where id = ${notice.id}`),

    /** Returns when the next delivery is due; undefined if none waits. */
    async nextDue(): Promise<Date | undefined> {
      const [row] = await records.query(sql`select min(next_at) as next from notices where state = 'waiting'`)
      return row?.next instanceof Date ? row.next : undefined
    },

    /** Returns the deliveries of an alert, a report or the pings of a site, the latest first, at most 200. */
    async list(source: NewNotice['source']): Promise<readonly DeliveryStatus[]> {
      const rows = await records.query(sql`
        select id, key, channel, state, attempts, created_at, next_at, done_at, last_error
        from notices where ${isFrom(source)} order by id desc limit 200`)
      return rows.map((row) => StoredDelivery.parse(row))
    },

    /** Counts the deliveries of an alert or a report since then whose key begins with `word`. */
    async countSince(source: NewNotice['source'], word: string, since: Date): Promise<number> {
      const [row] = await records.query(sql`
        select count(*) as n from notices
        where ${isFrom(source)} and key like ${`${word}:%`} and created_at > ${since}`)
      return Number(row?.n ?? 0)
    },

    /** Deletes deliveries that ended over 30 days ago, and all but the latest 1,000 of a site; pings of IndexNow are counted apart. */
    async prune(now: Date): Promise<void> {
      const expired = sql`id in (
        select id from (
          select id, done_at, row_number() over (partition by site, alert is null and report is null order by id desc) as nth
          from notices where state in ('done', 'failed')) n
        where nth > ${MAX_FINISHED_PER_SITE} or done_at < ${new Date(now.getTime() - RETENTION_DAYS * DAY_MS)})`
      const [row] = await records.query(sql`select count(*) as n from notices where ${expired}`)
      if (Number(row?.n ?? 0) > 0) await records.write(sql`delete from notices where ${expired}`)
    },
  }
}
