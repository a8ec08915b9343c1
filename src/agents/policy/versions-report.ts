import type { Llms } from './llms.js'
import type { Policy } from './policy.js'
import { endOfForce, type PolicyVersion, standingOf } from './version.js'

/** Characters of texts in one answer. The first version of a page always has its text. */
const MAX_TEXT_CHARS = 512 << 10
/** Links of one version in an answer. */
const MAX_LINKS = 1_000

interface VersionsReportInput {
  robots: readonly PolicyVersion[]
  llms: readonly PolicyVersion[]
  policyOf: (version: PolicyVersion) => Policy | undefined
  /** Milliseconds since 1970: only versions that began earlier. */
  before: number
  /** The versions, newest first, that get their text and counts. */
  offset: number
  limit: number
  /** Adds the links of llms.txt that lead to this hostname. */
  links: boolean
}

/** Lists the versions of a hostname's files, newest first, those of one page with text and counts. */
export async function createVersionsReport(input: VersionsReportInput) {
  const { robots, llms, policyOf, before, offset, limit, links } = input
  const all = [robots, llms]
    .flatMap((file) => file.map((version, i) => ({ version, until: endOfForce(version, file[i + 1]) })))
    .filter(({ version }) => version.first_seen < before)
    .sort((a, b) => b.version.first_seen - a.version.first_seen || (a.version.kind < b.version.kind ? 1 : -1))
  let left = MAX_TEXT_CHARS
  const described = []
  for (const [i, { version, until }] of all.entries()) {
    const { kind, status, sha256, truncated, first_seen, body } = version
    const isShown = i >= offset && i < offset + limit
    // Parsing takes up to tens of milliseconds, and the same process writes rows.
    if (isShown) await new Promise((resolve) => setImmediate(resolve))
    const policy = isShown ? policyOf(version) : undefined
    const hasText = isShown && !links && body !== undefined && (i === offset || body.length <= left)
    if (hasText) left -= body.length
    described.push({
      kind,
      status,
      standing: standingOf(status),
      since: new Date(first_seen).toISOString(),
      until: new Date(until).toISOString(),
      ...(sha256 !== '' && { sha256 }),
      ...(truncated && { truncated }),
      ...(isShown && countsOf(version, policy)),
      ...(links && policy?.llms && { targets: linksOf(policy.llms) }),
      ...(hasText && { text: body }),
    })
  }
  return described
}

/** The links to this hostname, each path once, where it stands first. */
function linksOf({ sections }: Llms) {
  const targets = new Map<string, { title: string; pathname: string; section: string }>()
  for (const { name, links } of sections)
    for (const { title, url, offsite } of links) {
      const { pathname } = new URL(url)
      if (offsite || targets.has(pathname) || targets.size === MAX_LINKS) continue
      targets.set(pathname, { title, pathname, section: name })
    }
  return [...targets.values()]
}

function countsOf({ kind, status }: PolicyVersion, policy: Policy | undefined) {
  if (policy === undefined || standingOf(status) !== 'served') return {}
  if (kind === 'llms') return { links: policy.llms?.sections.reduce((sum, { links }) => sum + links.length, 0) ?? 0 }
  const groups = policy.robots?.groups ?? []
  return { groups: groups.length, rules: groups.reduce((sum, { rules }) => sum + rules.length, 0) }
}
