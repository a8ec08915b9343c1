import { z } from 'zod'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../base/time-units.js'
import { sql } from '../../storage/sql.js'
import type { Records } from '../../storage/store.js'
import type { Annotations, AutomaticNote } from '../annotations.js'
import type { AssetActivity } from './activity.js'

/** New hashes of several names within this time are one deployment. */
const ROLLOUT_MS = 10 * MINUTE_MS
/** A name says nothing before this many responses. */
const MIN_RESPONSES = 10
/** A new hash has replaced the others after this many responses, if they are such a multiple of those with a hash before. */
const MIN_NEW_RESPONSES = 5
const MIN_RATIO = 2
/** After this many responses with a hash before, the new one has not replaced it yet; counting starts again. */
const MAX_OTHER_RESPONSES = 20
/** A hash that has replaced none after this long is another part of the same site: build tools use a name twice. */
const COEXISTENCE_MS = HOUR_MS
const MAX_NAMES = 100
const MAX_HASHES = 8
const MAX_ASSETS = 20
const MAX_NOTES_PER_DAY = 10
const SAVE_INTERVAL_MS = ROLLOUT_MS
const CAUSE = 'deployment:'

/** A name with the hashes that it has. */
const KnownName = z.object({
  responses: z.number(),
  /** The first response with the newest hash, epoch ms. */
  since: z.number(),
  /** The last response with a known hash, epoch ms. */
  last: z.number(),
  hashes: z.array(z.string()),
})
type KnownName = z.infer<typeof KnownName>
const KnownNames = z.array(z.tuple([z.string(), KnownName]))
const StoredNames = z.string().transform((text) => KnownNames.parse(JSON.parse(text)))

/** A hash that may replace the known ones. */
interface NewHash {
  readonly pathname: string
  /** Its first response, epoch ms. */
  readonly at: number
  /** Responses since then, with it and with a known hash. */
  count: number
  others: number
}
interface Name extends KnownName {
  readonly newHashes: Map<string, NewHash>
}

interface Deployment {
  readonly cause: string
  readonly at: number
  assets: readonly string[]
}

interface SiteState {
  /** By stem, the one that was asked for last at the end. */
  readonly names: Map<string, Name>
  latest: Deployment | undefined
  /** When the names of assets were last written to `asset_names`, epoch ms. */
  saved: number
}

/** A name whose hash was replaced, with what was known about it before. */
type Change = Pick<NewHash, 'pathname' | 'at'> & Pick<KnownName, 'since' | 'last'>

/** Writes a note when the scripts and styles of a site get new names, which means that it was probably deployed. */
export function createDeploymentNotes({ annotations, records }: { annotations: Annotations; records: Records }) {
  const sites = new Map<number, SiteState>()

  const load = async (site: number, now: number): Promise<SiteState> => {
    const [row] = await records.query(sql`select names from asset_names where site = ${site}`)
    const stored = row === undefined ? [] : StoredNames.parse(row.names)
    const latest = await annotations.latestCause(site, CAUSE)
    return {
      names: new Map(stored.map(([stem, known]) => [stem, { ...known, newHashes: new Map() }])),
      latest: latest && {
        cause: latest.cause,
        at: Date.parse(latest.cause.slice(CAUSE.length)),
        assets: latest.data?.assets ?? [],
      },
      saved: row === undefined ? 0 : now,
    }
  }
  const save = (site: number, { names }: SiteState): Promise<void> => {
    const stored: z.infer<typeof KnownNames> = [...names].map(([stem, { newHashes: _, ...known }]) => [stem, known])
    return records.write(
      sql`delete from asset_names where site = ${site}`,
      sql`insert into asset_names values (${site}, ${JSON.stringify(stored)})`,
    )
  }
  const write = async (site: number, state: SiteState, change: Change, now: number): Promise<void> => {
    const isPart = state.latest !== undefined && belongsTo(state.latest, change)
    const deployment = isPart && state.latest ? state.latest : newDeployment(change.at)
    state.latest = deployment
    deployment.assets = [...new Set([...deployment.assets, change.pathname])].slice(0, MAX_ASSETS)
    const note = toNote(site, deployment)
    if (isPart) return annotations.updateAutomatic(note)
    const recent = (await annotations.list(site)).filter(
      ({ kind, happened_at }) => kind === 'deployment' && now - happened_at.getTime() < DAY_MS,
    )
    const { text: _, data: __, ...remembered } = note
    await annotations.addAutomatic([recent.length < MAX_NOTES_PER_DAY ? note : remembered])
  }

  return {
    /** Takes the scripts and styles that a site served since the last call. Rejects if the records cannot be read or written. */
    async add(site: number, assets: readonly AssetActivity[], now: number): Promise<void> {
      if (assets.length === 0) return
      const state = sites.get(site) ?? (await load(site, now))
      sites.set(site, state)
      countAssets(state.names, assets)
      const changes = assets.flatMap(({ stem }) => replaceHashes(state.names.get(stem), now))
      try {
        for (const change of changes.toSorted((a, b) => a.at - b.at)) await write(site, state, change, now)
        if (changes.length === 0 && now - state.saved < SAVE_INTERVAL_MS) return
        await save(site, state)
        state.saved = now
      } catch (error) {
        // The next call loads the stored names again and finds the change again.
        sites.delete(site)
        throw error
      }
    },
    /** Forgets sites that no longer exist. */
    keep(ids: ReadonlySet<number>): void {
      for (const site of sites.keys()) if (!ids.has(site)) sites.delete(site)
    },
  }
}

/** Counts new hashes first, because responses of the same time with a known hash speak against them. */
function countAssets(names: Map<string, Name>, assets: readonly AssetActivity[]): void {
  const knownAssets: AssetActivity[] = []
  for (const asset of assets) {
    const name = names.get(asset.stem)
    if (name === undefined || name.responses < MIN_RESPONSES || name.hashes.includes(asset.hash))
      knownAssets.push(asset)
    else countNewHash(name, asset)
  }
  for (const { stem, hash, at, count } of knownAssets) {
    const name = names.get(stem) ?? { responses: 0, since: at, last: at, hashes: [], newHashes: new Map() }
    names.delete(stem)
    names.set(stem, name)
    name.responses = Math.min(name.responses + count, MIN_RESPONSES)
    name.last = Math.max(name.last, at)
    addHash(name, hash)
    for (const newHash of name.newHashes.values()) newHash.others += count
  }
  for (const oldest of names.keys()) if (names.size > MAX_NAMES) names.delete(oldest)
}

/** Counts a new hash; made-up names come once each, so the one with the fewest responses makes room. */
function countNewHash({ newHashes }: Name, { pathname, hash, at, count }: AssetActivity): void {
  const newHash = newHashes.get(hash) ?? { pathname, at, count: 0, others: 0 }
  newHashes.set(hash, { ...newHash, count: newHash.count + count })
  if (newHashes.size <= MAX_HASHES) return
  const [rarest] = [...newHashes].toSorted(([, a], [, b]) => a.count - b.count)
  if (rarest !== undefined) newHashes.delete(rarest[0])
}

/** Makes a hash known, as the newest. */
function addHash(name: Name, hash: string): void {
  name.hashes = [...name.hashes.filter((one) => one !== hash), hash].slice(-MAX_HASHES)
  name.newHashes.delete(hash)
}

/** Finds the new hashes that have replaced the known ones, and makes them known. */
function replaceHashes(name: Name | undefined, now: number): Change[] {
  if (name === undefined) return []
  const changes: Change[] = []
  for (const [hash, newHash] of name.newHashes) {
    const { pathname, at, count, others } = newHash
    if (count >= MIN_NEW_RESPONSES && count >= MIN_RATIO * others) {
      changes.push({ pathname, at, since: name.since, last: name.last })
      addHash(name, hash)
      name.since = at
      name.last = Math.max(name.last, at)
    } else if (others >= MAX_OTHER_RESPONSES) {
      if (now - at > COEXISTENCE_MS) addHash(name, hash)
      newHash.count = 0
      newHash.others = 0
    }
  }
  return changes
}

/**
 * Tells whether a change came with a deployment: at the same time, or later because the name, which few pages load, was not
 * asked for in between.
 */
const belongsTo = (deployment: Deployment, { at, since, last }: Change): boolean =>
  Math.abs(at - deployment.at) <= ROLLOUT_MS ||
  (since < deployment.at - ROLLOUT_MS && last <= deployment.at + ROLLOUT_MS)

const newDeployment = (at: number): Deployment => ({ cause: `${CAUSE}${new Date(at).toISOString()}`, at, assets: [] })

function toNote(site: number, { cause, at, assets }: Deployment): AutomaticNote & { readonly text: string } {
  const amount = assets.length < MAX_ASSETS ? `${assets.length}` : `${MAX_ASSETS} or more`
  const text = `Probably a deployment: ${amount} new ${assets.length === 1 ? 'script or style' : 'scripts or styles'}`
  return { site, cause, kind: 'deployment', at: new Date(at), text, data: { assets: [...assets] } }
}
