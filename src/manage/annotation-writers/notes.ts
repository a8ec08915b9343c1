import { z } from 'zod'
import { readPolicyChanges } from '../../agents/policy/stored-changes.js'
import { DAY_MS, MINUTE_MS } from '../../base/time-units.js'
import { sql } from '../../storage/sql.js'
import type { Records, Store } from '../../storage/store.js'
import type { Annotations, AutomaticNote } from '../annotations.js'
import { ruleEndNote } from '../rule-notes.js'
import type { Rules } from '../rules.js'
import type { Sites } from '../sites.js'
import type { Activity } from './activity.js'
import { createBlankPageNotes } from './blank-pages.js'
import { createDeploymentNotes } from './deployments.js'
import { createFirstVisitNotes } from './first-visits.js'
import { createServerErrorNotes } from './server-errors.js'

export interface NotesDeps {
  readonly annotations: Annotations
  readonly records: Records
  readonly store: Pick<Store, 'query'>
  readonly sites: Pick<Sites, 'list'>
  readonly rules: Pick<Rules, 'all'>
  /** Returns the site that a hostname belongs to. */
  siteOf(hostname: string): { readonly id: number } | undefined
  readonly catalog: {
    readonly version: string
    readonly agents: readonly { readonly agent_id: string; readonly name: string; readonly operator: string }[]
  }
  /** Returns what the sites did since the last call. */
  takeActivity(): Promise<Activity>
  /** When this process began to record. */
  readonly started: Date
  now(): Date
}

/** A shorter gap is a restart, which hides little. */
const MIN_GAP_MS = 10 * MINUTE_MS
/** The records change seldom, and reading them wakes the worker. */
const LOOK_INTERVAL_MS = MINUTE_MS
/** The first look notes changes of the policy that are older, for versions that were stored before there were notes. */
const FIRST_LOOK_BACK_MS = 30 * DAY_MS
const CATALOG_CAUSE = 'catalog_updated:'

/**
 * Writes the notes about what has happened. `write` is called every few seconds; it rejects if the store does not answer,
 * and the next call makes up for it. `policyChanged`: a version of the policy is about to be stored.
 */
export function createNotes(deps: NotesDeps): { write(): Promise<void>; policyChanged(): void } {
  const { annotations, sites, rules, takeActivity, now } = deps
  const errors = createServerErrorNotes(deps)
  const visits = createFirstVisitNotes({ ...deps, catalog: deps.catalog.agents })
  const deployments = createDeploymentNotes(deps)
  const blankPages = createBlankPageNotes(deps)
  /** Notes of the last look at the records: they are written. */
  let noted: ReadonlySet<string> | undefined
  let lookedAt = Number.NEGATIVE_INFINITY
  /** Writes what the records tell: versions of the policy, and the time before this process. */
  const look = async (at: Date) => {
    lookedAt = at.getTime()
    const changedSince = new Date(at.getTime() - (noted ? DAY_MS : FIRST_LOOK_BACK_MS))
    const notes = [...(await policyNotes(deps, changedSince, at)), ...(await gapNotes(deps, at))].map((note) => ({
      note,
      key: `${note.site} ${note.cause}`,
    }))
    await annotations.addAutomatic(notes.filter(({ key }) => !noted?.has(key)).map(({ note }) => note))
    noted = new Set(notes.map(({ key }) => key))
  }
  /** Rules whose end is noted, with that end. */
  let endsNoted: ReadonlySet<string> = new Set()
  const noteEndedRules = async (at: Date) => {
    const notes = (await rules.all()).flatMap((rule) => ruleEndNote(rule, at) ?? [])
    await annotations.addAutomatic(notes.filter(({ cause }) => !endsNoted.has(cause)))
    endsNoted = new Set(notes.map(({ cause }) => cause))
  }
  let isCatalogNoted: ReadonlySet<number> = new Set()
  const write = async () => {
    const at = now()
    const list = await sites.list()
    const ids = new Set(list.map(({ id }) => id))
    errors.keep(ids)
    visits.keep(ids)
    deployments.keep(ids)
    // Does not wait for a clock that was set back.
    if (Math.abs(at.getTime() - lookedAt) >= LOOK_INTERVAL_MS)
      await look(at).catch((error: unknown) => {
        lookedAt = Number.NEGATIVE_INFINITY
        throw error
      })
    await noteEndedRules(at)
    for (const { id } of list)
      if (!isCatalogNoted.has(id)) await annotations.addAutomatic(await catalogNotes(deps, id, at))
    isCatalogNoted = ids
    await blankPages.write(ids, at.getTime())
    const activity = new Map((await takeActivity()).map((one) => [one.site, one]))
    for (const id of ids) {
      const { minutes = [], agents = [], assets = [] } = activity.get(id) ?? {}
      await errors.add(id, minutes, at.getTime())
      await visits.add(id, agents, at.getTime())
      await deployments.add(id, assets, at.getTime())
    }
  }
  return {
    write,
    policyChanged() {
      lookedAt = Number.NEGATIVE_INFINITY
    },
  }
}

async function policyNotes({ records, siteOf }: NotesDeps, start: Date, end: Date): Promise<AutomaticNote[]> {
  const changes = await readPolicyChanges(records, { start, end })
  return changes.flatMap(({ hostname, file, at, status, sha256, before }) => {
    const site = siteOf(hostname)?.id
    if (site === undefined) return []
    const change = sha256 === '' ? 'was removed' : before.sha256 === '' ? 'was added' : 'changed'
    return {
      site,
      kind: 'policy_changed',
      at,
      cause: `policy_changed:${hostname}${file}:${at.toISOString()}`,
      text: `${file.slice(1)} of ${hostname} ${change}`,
      data: { hostname, file, status, sha256, before },
    }
  })
}

/** Notes the time between the end of the process before this one and the start of this one. */
async function gapNotes({ records, started }: NotesDeps, now: Date): Promise<AutomaticNote[]> {
  if (now.getTime() - started.getTime() > DAY_MS) return []
  const [row] = await records.query(sql`select max(ended) as ended from recorded where ended < ${started}`)
  const start = Span.parse(row).ended
  if (start === null || started.getTime() - start.getTime() < MIN_GAP_MS) return []
  const sites = await records.query(sql`select id from sites where created_at < ${start}`)
  return sites.map(({ id }) => ({
    ...({ site: Number(id), kind: 'not_recorded', at: start, cause: `not_recorded:${start.toISOString()}` } as const),
    text: `Nothing was recorded for ${formatDuration(started.getTime() - start.getTime())}`,
    data: { start: start.toISOString(), end: started.toISOString() },
  }))
}

const Span = z.object({ ended: z.date().nullable() })

/** Formats milliseconds in its two largest units: `3 h 20 min`. */
function formatDuration(ms: number): string {
  const minutes = Math.round(ms / MINUTE_MS)
  const [days, hours] = [Math.floor(minutes / 1_440), Math.floor(minutes / 60) % 24]
  const parts = [`${days} d`, `${hours} h`, `${minutes % 60} min`].filter((part) => !part.startsWith('0 '))
  return parts.slice(0, 2).join(' ')
}

/** Notes a catalogue that differs from the last one of the site; the first one is only remembered. */
async function catalogNotes({ annotations, catalog }: NotesDeps, site: number, at: Date): Promise<AutomaticNote[]> {
  const { version } = catalog
  const last = (await annotations.latestCause(site, CATALOG_CAUSE))?.cause.slice(CATALOG_CAUSE.length)
  const note = { site, kind: 'catalog_updated', at, cause: `${CATALOG_CAUSE}${version}` } as const
  if (last === undefined) return [note]
  const text = `The catalogue of agents was updated to ${version}`
  return [{ ...note, text, data: { version, before: { version: last } } }]
}
