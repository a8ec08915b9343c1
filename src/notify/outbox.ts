import { z } from 'zod'
import { StoredChannel } from '../manage/channels.js'
import { JsonText } from '../manage/fields.js'
import { join, type Sql, sql } from '../sql.js'
import type { Records } from '../store.js'
import type { AttemptResult } from './attempt-result.js'

/** What is to be delivered once, to one reader. */
export interface NewNotice {
  /** Names it for good: of two with the same key one is written, and receivers can tell a double by it. */
  readonly key: string
  readonly site: number
  /** What it is of. */
  readonly source: { readonly alert: number } | { readonly report: number }
  readonly channel: z.output<typeof StoredChannel>
  /** Whatever the sender of its kind understands; it is kept as JSON. */
  readonly payload: unknown
}

const STATES = ['waiting', 'sending', 'done', 'failed'] as const

/** A delivery as the API shows it. */
export const DeliveryStatus = z.object({
  id: z.int(),
  key: z.string().describe('As `x-service-delivery` has it: the same however often it is sent.'),
  channel: StoredChannel,
  state: z.enum(STATES),
  attempts: z.int(),
  created_at: z.iso.datetime(),
  next_at: z.iso.datetime().optional().describe('When it is tried next; where it is waiting.'),
  done_at: z.iso.datetime().optional().describe('When it was taken, or given up.'),
  last_error: z.string().optional().describe('Of the last attempt that failed.'),
})
export type DeliveryStatus = z.infer<typeof DeliveryStatus>

const StoredNotice = z.object({
  ...{ id: z.number(), key: z.string(), site: z.number(), alert: z.number().nullable(), report: z.number().nullable() },
  channel: JsonText.pipe(StoredChannel),
  payload: JsonText,
  attempts: z.number(),
})
/** One that is being delivered; `attempts` counts the one that is made now. */
export type Notice = z.output<typeof StoredNotice>

const StoredDelivery = z
  .object({
    ...{
      id: z.number(),
      key: z.string(),
      channel: JsonText.pipe(StoredChannel),
      state: z.enum(STATES),
      attempts: z.number(),
    },
    ...{ created_at: z.date(), next_at: z.date().nullable(), done_at: z.date().nullable() },
    last_error: z.string().nullable(),
  })
  .transform(
    ({ created_at, next_at, done_at, last_error, ...delivery }): DeliveryStatus => ({
      ...delivery,
      created_at: created_at.toISOString(),
      ...(next_at === null || delivery.state !== 'waiting' ? {} : { next_at: next_at.toISOString() }),
      ...(done_at === null ? {} : { done_at: done_at.toISOString() }),
      ...(last_error === null ? {} : { last_error }),
    }),
  )

const DAY_MS = 86_400_000
/** Days that what is over is kept, and how many of one site. */
const RETENTION_DAYS = 30
const MAX_FINISHED_PER_SITE = 1_000
/** As many are under way at once: of a site to one receiver, of all sites to one, of a site to all. One that hangs has no more. */
const MAX_PER_SITE_AND_RECEIVER = 2
const MAX_PER_RECEIVER = 4
const MAX_PER_SITE = 8
const MAX_ERROR_CHARACTERS = 300

/** Attempts that are made, each so many milliseconds behind the one before. */
const ATTEMPT_DELAYS_MS = [0, 30_000, 120_000, 600_000, 3_600_000, 21_600_000] as const
export const MAX_ATTEMPTS = ATTEMPT_DELAYS_MS.length
/** What a receiver may ask to be left alone for. */
const MAX_RETRY_AFTER_MS = 86_400_000

/** When the attempt behind `attempts` failed ones is made, ms from now: a tenth sooner or later, so that not all come at once. */
export function retryDelayMs(attempts: number, random: () => number, retry_after_ms = 0): number {
  const delay = (ATTEMPT_DELAYS_MS[attempts] ?? 0) * (0.9 + 0.2 * random())
  return Math.round(Math.max(delay, Math.min(retry_after_ms, MAX_RETRY_AFTER_MS)))
}

/** Whose time a delivery takes: one server's of a webhook, and the mail server's of all mails. */
const receiverName = ({ type, target }: z.output<typeof StoredChannel>): string => {
  if (type === 'email') return 'mail'
  return URL.canParse(target) ? new URL(target).host : target
}

/** The statements that put a notice into the outbox, for the transaction of what it tells. */
export function noticeStatements({ key, site, source: of, channel, payload }: NewNotice, at: Date): Sql[] {
  const alert = 'alert' in of ? of.alert : null
  const report = 'report' in of ? of.report : null
  const fresh = sql`kind = 'notices' and not exists (select 1 from notices where key = ${key})`
  return [
    sql`update last_ids set id = id + 1 where ${fresh}`,
    sql`insert into notices (id, key, site, alert, report, channel, receiver, payload, created_at, attempts, next_at, state)
      select id, ${key}, ${site}, ${alert}, ${report}, ${JSON.stringify(channel)}, ${receiverName(channel)},
        ${JSON.stringify(payload)}, ${at}, 0, ${at}, 'waiting'
      from last_ids where ${fresh}`,
  ]
}

const sqlList = (ids: readonly number[]): Sql =>
  join(
    ids.map((id) => sql`${id}`),
    ', ',
  )

const DueNotice = z.object({ id: z.number(), site: z.number(), receiver: z.string(), nth: z.number() })

/** The ids of those that are begun now; `nth` counts from 1 what a site has waiting for a receiver, and is 0 of what is under way. */
function pickFairly(all: readonly z.output<typeof DueNotice>[], most: number): number[] {
  const counts = new Map<string, number>()
  const taken: number[] = []
  for (const { id, site, receiver, nth } of all) {
    const of: [name: string, most: number][] = [
      [`${site} ${receiver}`, MAX_PER_SITE_AND_RECEIVER],
      [` ${receiver}`, MAX_PER_RECEIVER],
      [`${site}`, MAX_PER_SITE],
    ]
    const fits = taken.length < most && of.every(([name, limit]) => (counts.get(name) ?? 0) < limit)
    if (nth > 0 && !fits) continue
    for (const [name] of of) counts.set(name, (counts.get(name) ?? 0) + 1)
    if (nth > 0) taken.push(id)
  }
  return taken
}

/** What is to be delivered, in `control.duckdb`: it outlives the process. */
export interface Outbox {
  /** What counts as being sent and is not among `mine` was cut off, by a death or a fault: it is due again. */
  recover(now: Date, mine: readonly number[]): Promise<void>
  /** Of those that are due `most`, fairly among sites and receivers; they count as being sent, and this attempt as made. */
  take(now: Date, most: number): Promise<readonly Notice[]>
  /** What became of the attempt. */
  saveResult(notice: Notice, outcome: AttemptResult, now: Date): Promise<void>
  /** When the next is due; undefined where none waits. */
  nextDue(): Promise<Date | undefined>
  /** Of an alert or a report, the latest first, at most 200. */
  list(of: NewNotice['source']): Promise<readonly DeliveryStatus[]>
  /** How many of an alert or a report were made since, by the first word of their key. */
  countSince(of: NewNotice['source'], word: string, since: Date): Promise<number>
  /** Forgets what was over for 30 days, and of a site all but the latest thousand. */
  prune(now: Date): Promise<void>
}

export function createOutbox({ records, random }: { records: Records; random: () => number }): Outbox {
  const whose = (of: NewNotice['source']) => ('alert' in of ? sql`alert = ${of.alert}` : sql`report = ${of.report}`)
  const columns = sql`id, key, site, alert, report, channel, payload, attempts`
  return {
    async recover(now, mine) {
      const rows = await records.query(sql`select id from notices where state = 'sending'`)
      const cut = rows.map(({ id }) => Number(id)).filter((id) => !mine.includes(id))
      if (cut.length === 0) return
      const ids = sqlList(cut)
      await records.write(
        sql`update notices set state = 'failed', done_at = ${now}, last_error = 'the last attempt was cut off'
          where id in (${ids}) and attempts >= ${MAX_ATTEMPTS}`,
        sql`update notices set state = 'waiting', next_at = ${now} where id in (${ids}) and attempts < ${MAX_ATTEMPTS}`,
      )
    },

    async take(now, most) {
      const rows = await records.query(sql`
        select id, site, receiver, nth from (
          select *, row_number() over (partition by site, receiver order by next_at, id) as nth
          from notices where state = 'waiting' and next_at <= ${now}) due
        where nth <= ${MAX_PER_SITE_AND_RECEIVER}
        union all select id, site, receiver, 0 from notices where state = 'sending'
        order by nth, id`)
      const taken = pickFairly(z.array(DueNotice).parse(rows), most)
      if (taken.length === 0) return []
      const ids = sqlList(taken)
      const due = (
        await records.query(sql`select ${columns} from notices where id in (${ids}) order by next_at, id`)
      ).map((row) => StoredNotice.parse(row))
      // Counted before it is made: what kills the process is not tried for ever.
      await records.write(sql`update notices set state = 'sending', attempts = attempts + 1 where id in (${ids})`)
      return due.map((notice) => ({ ...notice, attempts: notice.attempts + 1 }))
    },

    saveResult({ id, attempts }, outcome, now) {
      if (outcome.taken)
        return records.write(
          sql`update notices set state = 'done', done_at = ${now}, last_error = null where id = ${id}`,
        )
      const error = outcome.error.slice(0, MAX_ERROR_CHARACTERS)
      if (outcome.permanent || attempts >= MAX_ATTEMPTS)
        return records.write(
          sql`update notices set state = 'failed', done_at = ${now}, last_error = ${error} where id = ${id}`,
        )
      const next = new Date(now.getTime() + retryDelayMs(attempts, random, outcome.retry_after_ms))
      return records.write(
        sql`update notices set state = 'waiting', next_at = ${next}, last_error = ${error} where id = ${id}`,
      )
    },

    async nextDue() {
      const [row] = await records.query(sql`select min(next_at) as next from notices where state = 'waiting'`)
      return row?.next instanceof Date ? row.next : undefined
    },

    async list(of) {
      const rows = await records.query(sql`
        select id, key, channel, state, attempts, created_at, next_at, done_at, last_error
        from notices where ${whose(of)} order by id desc limit 200`)
      return rows.map((row) => StoredDelivery.parse(row))
    },

    async countSince(of, word, since) {
      const [row] = await records.query(sql`
        select count(*) as n from notices
        where ${whose(of)} and key like ${`${word}:%`} and created_at > ${since}`)
      return Number(row?.n ?? 0)
    },

    async prune(now) {
      const old = sql`id in (
        select id from (
          select id, done_at, row_number() over (partition by site order by id desc) as nth
          from notices where state in ('done', 'failed')) n
        where nth > ${MAX_FINISHED_PER_SITE} or done_at < ${new Date(now.getTime() - RETENTION_DAYS * DAY_MS)})`
      const [row] = await records.query(sql`select count(*) as n from notices where ${old}`)
      if (Number(row?.n ?? 0) > 0) await records.write(sql`delete from notices where ${old}`)
    },
  }
}
