import { DAY_MS } from '../../base/time-units.js'
import type { RuleFront } from '../rules.js'

/** Fronts of all sites that are remembered; beyond it the one that asked first is forgotten. */
const MAX_FRONTS = 1_000
const MAX_NAME_CHARS = 100

interface KnownFront {
  readonly site: number
  readonly name: string
  version: string
  since: Date
  asked: Date
}

export type RuleFronts = ReturnType<typeof createRuleFronts>

/** Remembers which sidecars asked for the rules of a site in the last day, and the version that they had. */
export function createRuleFronts(now: () => Date) {
  /** The one that asked last is the last. */
  const fronts = new Map<string, KnownFront>()
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
      const name =
        given
          .replace(/[^\x20-\x7e]/g, '')
          .slice(0, MAX_NAME_CHARS)
          .trim() || 'sidecar'
      const key = `${site} ${name}`
      const asked = now()
      const known = fronts.get(key) ?? { site, name, version, since: asked, asked }
      if (known.version !== version) Object.assign(known, { version, since: asked })
      fronts.delete(key)
      fronts.set(key, { ...known, asked })
      forget(asked)
    },
    /** Returns the fronts of a site, in the order of their names. */
    list(site: number): RuleFront[] {
      forget(now())
      return [...fronts.values()]
        .filter((front) => front.site === site)
        .sort((a, b) => (a.name < b.name ? -1 : 1))
        .map(({ name, version, since, asked }) => ({
          ...({ name, kind: 'sidecar', version } as const),
          since: since.toISOString(),
          asked_at: asked.toISOString(),
        }))
    },
  }
}
