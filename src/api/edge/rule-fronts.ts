import { DAY_MS } from '../../base/time-units.js'
import type { RuleFront } from '../rules.js'

/** Fronts of all sites that are remembered; beyond it the one that asked first is forgotten. */
const MAX_FRONTS = 1_000
const MAX_NAME_CHARS = 100

export type RuleFronts = ReturnType<typeof createRuleFronts>

/** Remembers which sidecars asked for the rules of a site in the last day, and the version that they had. */
export function createRuleFronts(now: () => Date) {
  /** The one that asked last is the last. */
  const fronts = new Map<string, { readonly site: number; readonly asked: Date; readonly front: RuleFront }>()
  const forget = (at: Date) => {
    for (const [key, { asked }] of fronts) {
      if (fronts.size <= MAX_FRONTS && at.getTime() - asked.getTime() < DAY_MS) break
      fronts.delete(key)
    }
  }
  return {
    /** A sidecar asks, and says which version it decides by. */
    note(site: number, given: string, givenVersion: string): void {
      const version = givenVersion.replace(/[^\w-]/g, '').slice(0, MAX_NAME_CHARS)
      const printable = given.replace(/[^\x20-\x7e]/g, '').slice(0, MAX_NAME_CHARS)
      const name = printable.trim() || 'sidecar'
      const key = `${site} ${name}`
      const asked = now()
      const asked_at = asked.toISOString()
      const before = fronts.get(key)?.front
      const since = before?.version === version ? before.since : asked_at
      fronts.delete(key)
      fronts.set(key, { site, asked, front: { name, kind: 'sidecar', version, since, asked_at } })
      forget(asked)
    },
    /** Returns the fronts of a site, in the order of their names. */
    list(site: number): RuleFront[] {
      forget(now())
      return [...fronts.values()]
        .flatMap((one) => (one.site === site ? [one.front] : []))
        .sort((a, b) => (a.name < b.name ? -1 : 1))
    },
  }
}
