import { z } from 'zod'
import { octetsToText, splitLines } from '../../agents/policy/robots-lines.js'
import type { ReadContext } from '../../analytics/query/read-context.js'
import { ApiError } from '../../base/errors.js'
import { HOUR_MS } from '../../base/time-units.js'
import type { Facts } from './document.js'
import { sha256Of } from './signed-file.js'

/** Versions whose text a folder has, and the characters of all these texts. */
const MAX_TEXTS = 20
const MAX_TEXT_CHARS = 1 << 20

const Version = z.object({
  ...{ since: z.string(), until: z.string(), standing: z.string(), status: z.int() },
  ...{ sha256: z.string().default(''), text: z.string().optional() },
})
const Report = z.object({ versions: z.array(Version) })
type Version = z.output<typeof Version> & { hostname: string; place: number }

export type VersionsOfHosts = Awaited<ReturnType<typeof createRobotsVersions>>

/** Looks up the versions of robots.txt of some hostnames, and keeps note of those that are used. */
export async function createRobotsVersions(context: ReadContext, hostnames: readonly string[]) {
  const before = context.plan.window.end.getTime()
  const ask = async (hostname: string, offset: number, limit: number): Promise<Version[]> => {
    const report = await context.policyVersions({ hostname, kind: 'robots', before, offset, limit }).catch((error) => {
      // Nothing is known of a hostname that left the site.
      if (error instanceof ApiError && error.code === 'not_found') return { versions: [] }
      throw error
    })
    return Report.parse(report).versions.map((version, place) => ({ ...version, hostname, place }))
  }
  const lists = new Map<string, readonly Version[]>()
  for (const hostname of hostnames) {
    const versions = await ask(hostname, 0, 0)
    const served = versions.filter(({ standing }) => standing === 'served')
    lists.set(hostname, served)
  }
  const used = new Set<Version>()
  return {
    /** Returns the version that judged a fetch: the one that was active, or the first that began within an hour after it. */
    use(hostname: string, at: number): Version | undefined {
      const versions = lists.get(hostname) ?? []
      const version =
        versions.find(({ since, until }) => Date.parse(since) <= at && at < Date.parse(until)) ??
        versions.findLast(({ since }) => Date.parse(since) > at && Date.parse(since) - at <= HOUR_MS)
      if (version) used.add(version)
      return version
    },
    /** Returns the versions that were used, with as many texts as fit. */
    async listUsed(): Promise<Facts['robots_txt']> {
      let left = MAX_TEXT_CHARS
      const listed: Facts['robots_txt'] = []
      for (const version of [...used].sort((a, b) => (a.since < b.since ? -1 : 1))) {
        const { hostname, place, standing: _, ...said } = version
        const found = listed.length < MAX_TEXTS ? (await ask(hostname, place, 1))[place]?.text : undefined
        const text = found !== undefined && found.length <= left ? found : null
        left -= text?.length ?? 0
        listed.push({ hostname, ...said, text, is_exact: text !== null && sha256Of(text) === said.sha256 })
      }
      return listed
    },
  }
}

/** Returns a line of a robots.txt, numbered from 1; null if the text is not known. */
export function lineOf(text: string | null | undefined, line: number | null): string | null {
  const octets = text && line !== null ? splitLines(text, 'rfc').lines[line - 1] : undefined
  return octets === undefined ? null : octetsToText(octets)
}
