import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { z } from 'zod'
import type { Site } from '../capture/site.js'
import { MAX_LATENESS_MS, SESSION_TIMEOUT_MS } from './session-memory.js'

/** The salts in force at one moment. */
export interface PeriodSalts {
  secret: Buffer
  /** That of the period before, within the first half hour of a period: a visit may go on; null when it is not known. */
  previous: Buffer | null
  /** That of the period after, within the last half hour of one that is over: for hits that come late. */
  next: Buffer | null
}

export interface SaltStore {
  /** The salt of `policy` for something that happened at `at` (milliseconds since 1970). Never throws. */
  at(policy: Site['visitor_salt'], at: number): PeriodSalts
  /** Destroys what has ended, also when nothing is recorded: to be called each minute. Never throws. */
  expire(): void
}

/** Where salts survive a restart. */
export interface SaltFile {
  /** Its text, `undefined` where there is none yet. */
  read(): string | undefined
  /** All or nothing. */
  write(text: string): void
}

/** A file of its own that only its owner may read, replaced in one step so that a crash leaves the old or the new one. */
export function openSaltFile(path: string): SaltFile {
  return {
    read() {
      try {
        return readFileSync(path, 'utf8')
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
        throw error
      }
    },
    write(text) {
      const part = openSync(`${path}.part`, 'w', 0o600)
      try {
        writeSync(part, text)
        fsyncSync(part)
      } finally {
        closeSync(part)
      }
      renameSync(`${path}.part`, path)
    },
  }
}

const DAY_MS = 86_400_000
/** A salt of a period that is neither the present one nor was it of late is needed while its rows come in, and no longer. */
const IDLE_SALT_MS = SESSION_TIMEOUT_MS

const SaltFileContent = z.object({
  salts: z.record(z.string(), z.object({ secret: z.base64(), end: z.number().nullable() })),
})

interface SaltPeriod {
  key: string
  /** Milliseconds since 1970; the end is exclusive. */
  start: number
  end: number
}

/** The period of the UTC calendar that holds an instant: one salt serves all sites, whatever their time zones. */
export function saltPeriodOf(policy: Site['visitor_salt'], at: number): SaltPeriod {
  if (policy === 'never') return { key: 'never', start: Number.NEGATIVE_INFINITY, end: Number.POSITIVE_INFINITY }
  const [start, end] = periodBounds(policy, at)
  return { key: `${policy} ${new Date(start).toISOString().slice(0, 10)}`, start, end }
}

function periodBounds(policy: 'day' | 'week' | 'month', at: number): [number, number] {
  const day = Math.floor(at / DAY_MS)
  if (policy === 'day') return [day * DAY_MS, (day + 1) * DAY_MS]
  // Day 0 was a Thursday; weeks start on Monday (contract 4).
  const monday = Math.floor((day + 3) / 7) * 7 - 3
  if (policy === 'week') return [monday * DAY_MS, (monday + 7) * DAY_MS]
  const date = new Date(at)
  return [
    Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1),
    Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1),
  ]
}

interface SaltEntry {
  secret: Buffer
  /** When it leaves the file (kept) or memory. */
  until: number
  kept: boolean
  /** It was the present one: its rows are old news, and it goes at its time however much it is asked for. */
  ended: boolean
}

/**
 * The secrets behind visitor ids. The present period's lives in `file` and is destroyed there the moment the period
 * ends; in memory it stays for as long as rows may come late, so that a visit over midnight is one. Rows of other periods
 * (imports) get a salt that never leaves memory and goes half an hour after its last use: stable within a run, and gone.
 */
export function openSaltStore(deps: {
  file: SaltFile
  now: () => number
  random: (bytes: number) => Buffer
  log: (message: string, error: unknown) => void
}): SaltStore {
  const entries = new Map<string, SaltEntry>()
  /** Answers for one stretch of a period each: its first half hour, its last, or what lies between. */
  const latest = new Map<Site['visitor_salt'], { from: number; to: number; entry: SaltEntry; salt: PeriodSalts }>()
  let unsaved = false
  let due = Number.POSITIVE_INFINITY

  const save = () => {
    const kept = [...entries].filter(([, { kept }]) => kept)
    const salts = Object.fromEntries(
      kept.map(([key, { secret, until }]) => [
        key,
        { secret: secret.toString('base64'), end: Number.isFinite(until) ? until : null },
      ]),
    )
    try {
      deps.file.write(`${JSON.stringify({ salts })}\n`)
      unsaved = false
    } catch (error) {
      unsaved = true
      deps.log('the file of salts could not be written: visitors would be new after a restart', error)
    }
  }

  const expire = () => {
    const now = deps.now()
    for (const [key, entry] of entries) {
      if (entry.kept && entry.until <= now) {
        entry.kept = false
        entry.until += MAX_LATENESS_MS
        entry.ended = true
        unsaved = true
      }
      if (entry.until <= now) entries.delete(key)
    }
    latest.clear()
    due = Math.min(...[...entries.values()].map(({ until }) => until))
    if (unsaved) save()
  }

  const entryOf = (period: SaltPeriod): SaltEntry => {
    const now = deps.now()
    const known = entries.get(period.key)
    if (known?.kept) return known
    const entry = known ?? { secret: deps.random(32), until: 0, kept: false, ended: false }
    entries.set(period.key, entry)
    // To its neighbours it may be the one before or after.
    latest.clear()
    entry.kept = period.start <= now && now < period.end
    if (entry.kept) entry.until = period.end
    else if (period.end <= now && now < period.end + MAX_LATENESS_MS) {
      // Over before it was needed here, or before this start: what still comes of it is one visitor's under one id.
      entry.until = period.end + MAX_LATENESS_MS
      entry.ended = true
    } else if (!entry.ended) entry.until = now + IDLE_SALT_MS
    due = Math.min(due, entry.until)
    if (entry.kept) save()
    return entry
  }

  for (const [key, { secret, end }] of Object.entries(loadSalts(deps))) {
    const until = end ?? Number.POSITIVE_INFINITY
    entries.set(key, { secret: Buffer.from(secret, 'base64'), until, kept: true, ended: false })
  }
  expire()

  return {
    expire,
    at(policy, at) {
      const now = deps.now()
      if (now >= due) expire()
      const known = latest.get(policy)
      if (known && known.from <= at && at < known.to) {
        if (!known.entry.kept && !known.entry.ended) known.entry.until = now + IDLE_SALT_MS
        return known.salt
      }
      const period = saltPeriodOf(policy, at)
      const entry = entryOf(period)
      const [early, late] = [period.start + SESSION_TIMEOUT_MS, period.end - SESSION_TIMEOUT_MS + 1]
      const neighbour = (instant: number) => entries.get(saltPeriodOf(policy, instant).key)?.secret ?? null
      const previous = at < early ? neighbour(period.start - 1) : null
      const next = at >= late ? neighbour(period.end) : null
      const salt = { secret: entry.secret, previous, next }
      const from = at < early ? period.start : at < late ? early : late
      latest.set(policy, { from, to: at < early ? early : at < late ? late : period.end, entry, salt })
      return salt
    },
  }
}

/** What the file holds; a file that cannot be understood is as good as none, and said so. */
function loadSalts({ file, log }: { file: SaltFile; log: (message: string, error: unknown) => void }) {
  const text = file.read()
  if (text === undefined) return {}
  try {
    return SaltFileContent.parse(JSON.parse(text)).salts
  } catch (error) {
    log('the file of salts cannot be understood: this period’s visitors count as new', error)
    return {}
  }
}
