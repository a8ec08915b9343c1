import { z } from 'zod'
import { DAY_MS } from '../../base/time-units.js'
import { sql } from '../../storage/sql.js'
import type { Store } from '../../storage/store.js'
import type { Annotations, AutomaticNote } from '../annotations.js'

/** Agents of a site's first days are not news: a new site would get a note for each. */
const SETTLING_MS = 7 * DAY_MS
const MAX_NOTES_PER_DAY = 5

interface CataloguedAgent {
  readonly agent_id: string
  readonly name: string
  readonly operator: string
}

interface FirstVisitDeps {
  readonly annotations: Annotations
  readonly store: Pick<Store, 'query'>
  readonly catalog: readonly CataloguedAgent[]
}

const FirstFetch = z.object({ timestamp: z.date(), verification: z.string(), pathname: z.string() })
const First = z.object({ first: z.date().nullable() })
const causeOf = (agent_id: string) => `first_visit:${agent_id}`

/**
 * Writes a note when an agent of the catalogue fetches from a site for the first time, unless the claim is spoofed. Asks the
 * store only about agents that the site's notes do not know yet.
 */
export function createFirstVisitNotes({ annotations, store, catalog }: FirstVisitDeps) {
  const agents = new Map(catalog.map((agent) => [agent.agent_id, agent]))
  /** Agents by site that need no note any more. */
  const agentsBySite = new Map<number, Set<string>>()
  /** Agents by site that are looked up: those of a call that failed stay for the next. */
  const waiting = new Map<number, Set<string>>()

  const firstFetch = async (site: number, agent_id: string) => {
    const [row] = await store.query(sql`
      select timestamp, verification, pathname from agent_events
      where site_id = ${site} and agent_id = ${agent_id} and verification not in ('spoofed', 'indeterminate')
      order by timestamp limit 1`)
    return row && FirstFetch.parse(row)
  }
  const firstRow = async (site: number): Promise<number> => {
    const [row] = await store.query(sql`
      select min(timestamp) as first from (
        select timestamp from events where site_id = ${site}
        union all select timestamp from agent_events where site_id = ${site}) recorded`)
    return First.parse(row).first?.getTime() ?? Number.POSITIVE_INFINITY
  }
  const countRecent = async (site: number, now: number) =>
    (await annotations.list(site)).filter(
      ({ kind, happened_at }) => kind === 'first_visit' && now - happened_at.getTime() < DAY_MS,
    ).length

  return {
    /** Takes the agents that a site's stored rows had since the last call. Rejects if the store or the records cannot be read. */
    async add(site: number, seen: readonly string[], now: number): Promise<void> {
      const knownHere = agentsBySite.get(site) ?? new Set()
      const waitingHere = waiting.get(site) ?? new Set()
      agentsBySite.set(site, knownHere)
      waiting.set(site, waitingHere)
      for (const id of seen) if (agents.has(id) && !knownHere.has(id)) waitingHere.add(id)
      if (waitingHere.size === 0) return
      const causes = await annotations.findCauses(site, [...waitingHere].map(causeOf))
      const notes: AutomaticNote[] = []
      let began: number | undefined
      let recent: number | undefined
      for (const id of waitingHere) {
        const agent = agents.get(id)
        const fetched = causes.has(causeOf(id)) ? undefined : await firstFetch(site, id)
        if (causes.has(causeOf(id)) || agent === undefined) {
          knownHere.add(id)
          waitingHere.delete(id)
        } else if (fetched === undefined) waitingHere.delete(id)
        else {
          began ??= await firstRow(site)
          recent ??= await countRecent(site, now)
          const { timestamp: at, verification, pathname } = fetched
          const note = { site, cause: causeOf(id), kind: 'first_visit', at } as const
          const isNews = at.getTime() - began >= SETTLING_MS && now - at.getTime() < DAY_MS
          if (isNews && recent < MAX_NOTES_PER_DAY) {
            recent += 1
            const { name, operator } = agent
            const text = `First visit of ${name} (${operator})`
            notes.push({ ...note, text, data: { agent_id: id, name, operator, verification, pathname } })
          } else notes.push(note)
        }
      }
      // The next call finds their causes.
      await annotations.addAutomatic(notes)
    },
    /** Forgets sites that no longer exist. */
    keep(ids: ReadonlySet<number>): void {
      for (const map of [agentsBySite, waiting]) for (const site of map.keys()) if (!ids.has(site)) map.delete(site)
    },
  }
}
