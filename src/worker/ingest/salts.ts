import { z } from 'zod'
import type { PrivateFile } from '../../base/private-file.js'
import { DAY_MS } from '../../base/time-units.js'
import type { SiteSettings } from '../../capture/site.js'
import { MAX_LATENESS_MS, SESSION_TIMEOUT_MS } from './session-memory.js'

/** The salts that are active at one moment. */
export interface PeriodSalts {
  secret: Buffer
  /** The previous period's, within the first half hour of a period, because a visit may continue; null if not known. */
  previous: Buffer | null
  /** The next period's salt, for a late hit from the last half hour of a period that is over; null if not known. */
  next: Buffer | null
}

/** A salt that is not destroyed. */
export interface HeldSalt {
  secret: Buffer
  /** False if it was made after its period, for late rows: rows that were recorded in the period may have other ids. */
  isOriginal: boolean
}

/** A salt of a period long past (an import) is kept this long after its last use. */
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

/** Returns the period of the UTC calendar that contains an instant. One salt serves all sites, whatever their time zones. */
export function saltPeriodOf(policy: SiteSettings['visitor_salt'], at: number): SaltPeriod {
  if (policy === 'never') return { key: 'never', start: Number.NEGATIVE_INFINITY, end: Number.POSITIVE_INFINITY }
  const [start, end] = periodBounds(policy, at)
  return { key: `${policy} ${new Date(start).toISOString().slice(0, 10)}`, start, end }
}

function periodBounds(policy: 'day' | 'week' | 'month', at: number): [number, number] {
  const day = Math.floor(at / DAY_MS)
  if (policy === 'day') return [day * DAY_MS, (day + 1) * DAY_MS]
  // Day 0 was a Thursday; weeks start on Monday.
  const monday = Math.floor((day + 3) / 7) * 7 - 3
  if (policy === 'week') return [monday * DAY_MS, (monday + 7) * DAY_MS]
  const date = new Date(at)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return [Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1)]
}

interface SaltEntry {
  secret: Buffer
  /** When it leaves the file (`isInFile`) or memory. */
  until: number
  isInFile: boolean
  /** Its period is over: it leaves memory at its time, however often it is used. */
  isOver: boolean
  /** As `HeldSalt.isOriginal`. */
  isOriginal: boolean
}

interface SaltStoreOptions {
  file: PrivateFile
  /**
   * Keeps salts of ended periods in `file` for as long as late rows may come, because another process may take over from
   * this one. Otherwise they are in memory alone then.
   */
  keepEnded?: boolean
  now: () => number
  random: (bytes: number) => Buffer
  log: (message: string, error: unknown) => void
}

/**
 * The secrets of visitor ids. The current period's is in `file` and is destroyed there the moment the period ends; in
 * memory it stays for as long as late rows may come, so that a visit across midnight is one. Rows of other periods
 * (imports) get a salt that never leaves memory and goes half an hour after its last use: stable within one run.
 */
export class SaltStore {
  private readonly entries = new Map<string, SaltEntry>()
  /** Results, one by policy, each valid for a part of a period: its first half hour, its last, or the time between. */
  private readonly latest = new Map<
    SiteSettings['visitor_salt'],
    { from: number; to: number; entry: SaltEntry; salts: PeriodSalts }
  >()
  private isUnsaved = false
  private nextExpiry = Number.POSITIVE_INFINITY
  private readonly options: SaltStoreOptions

  constructor(options: SaltStoreOptions) {
    this.options = options
    for (const [key, { secret, end }] of Object.entries(loadSalts(options))) {
      const until = end ?? Number.POSITIVE_INFINITY
      this.entries.set(key, {
        secret: Buffer.from(secret, 'base64'),
        until,
        isInFile: true,
        isOver: false,
        isOriginal: true,
      })
    }
    this.expire()
  }

  /** Returns the salts of `policy` for something that happened at `at` (milliseconds since 1970). Never throws. */
  at(policy: SiteSettings['visitor_salt'], at: number): PeriodSalts {
    const now = this.options.now()
    if (now >= this.nextExpiry) this.expire()
    const cached = this.latest.get(policy)
    if (cached && cached.from <= at && at < cached.to) {
      if (!cached.entry.isInFile && !cached.entry.isOver) cached.entry.until = now + IDLE_SALT_MS
      return cached.salts
    }
    const period = saltPeriodOf(policy, at)
    const entry = this.entryOf(period)
    const [early, late] = [period.start + SESSION_TIMEOUT_MS, period.end - SESSION_TIMEOUT_MS + 1]
    const neighbour = (instant: number) => this.entries.get(saltPeriodOf(policy, instant).key)?.secret ?? null
    const previous = at < early ? neighbour(period.start - 1) : null
    const next = at >= late ? neighbour(period.end) : null
    const salts = { secret: entry.secret, previous, next }
    const from = at < early ? period.start : at < late ? early : late
    this.latest.set(policy, { from, to: at < early ? early : at < late ? late : period.end, entry, salts })
    return salts
  }

  /**
   * Returns the salt that rows of `at` have ids by; undefined if it is destroyed. Unlike `at`, it makes no salt for a
   * period that is over. One that late rows of a long past period were given stays half an hour after this use too.
   */
  held(policy: SiteSettings['visitor_salt'], at: number): HeldSalt | undefined {
    const { key, start, end } = saltPeriodOf(policy, at)
    const now = this.options.now()
    if (start <= now && now < end) return { secret: this.at(policy, at).secret, isOriginal: true }
    if (now >= this.nextExpiry) this.expire()
    const entry = this.entries.get(key)
    if (entry === undefined) return undefined
    if (!entry.isInFile && !entry.isOver) entry.until = now + IDLE_SALT_MS
    return { secret: entry.secret, isOriginal: entry.isOriginal }
  }

  /** Destroys expired salts. Called each minute, so that they go even when nothing is recorded. Never throws. */
  expire(): void {
    const now = this.options.now()
    for (const [key, entry] of this.entries) {
      if (entry.isInFile && entry.until <= now) {
        entry.isInFile = false
        entry.until += MAX_LATENESS_MS
        entry.isOver = true
        this.isUnsaved = true
      }
      if (entry.until > now) continue
      this.entries.delete(key)
      if (this.options.keepEnded && entry.isOver) this.isUnsaved = true
    }
    this.latest.clear()
    this.nextExpiry = Math.min(...[...this.entries.values()].map(({ until }) => until))
    if (this.isUnsaved) this.save()
  }

  private entryOf(period: SaltPeriod): SaltEntry {
    const now = this.options.now()
    const known = this.entries.get(period.key)
    if (known?.isInFile) return known
    const isOriginal = period.end > now
    const entry = known ?? { secret: this.options.random(32), until: 0, isInFile: false, isOver: false, isOriginal }
    this.entries.set(period.key, entry)
    // Cached results of the neighbouring periods may lack it.
    this.latest.clear()
    entry.isInFile = period.start <= now && now < period.end
    if (entry.isInFile) entry.until = period.end
    else if (period.end <= now && now < period.end + MAX_LATENESS_MS) {
      // Over before it was needed, or before this start: its late rows still get one id per visitor.
      entry.until = period.end + MAX_LATENESS_MS
      entry.isOver = true
    } else if (!entry.isOver) entry.until = now + IDLE_SALT_MS
    this.nextExpiry = Math.min(this.nextExpiry, entry.until)
    if (entry.isInFile) this.save()
    return entry
  }

  private save(): void {
    const salts: z.infer<typeof SaltFileContent>['salts'] = {}
    for (const [key, { secret, until, isInFile, isOver }] of this.entries) {
      const end = isOver ? until - MAX_LATENESS_MS : until
      if (isInFile || (isOver && this.options.keepEnded))
        salts[key] = { secret: secret.toString('base64'), end: Number.isFinite(end) ? end : null }
    }
    try {
      this.options.file.write(`${JSON.stringify({ salts })}\n`)
      this.isUnsaved = false
    } catch (error) {
      this.isUnsaved = true
      this.options.log('the salt file could not be written: after a restart, visitors would count as new', error)
    }
  }
}

/** Returns the salts in the file. A file that cannot be parsed counts as empty, and is logged. */
function loadSalts({ file, log }: SaltStoreOptions) {
  const text = file.read()
  if (text === undefined) return {}
  try {
    return SaltFileContent.parse(JSON.parse(text)).salts
  } catch (error) {
    log('the salt file cannot be parsed: this period’s visitors count as new', error)
    return {}
  }
}
