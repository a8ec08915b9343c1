import type { Policy } from './policy.js'
import { POLICY_PATHS, type PolicyKind, type PolicyVersion, standingOf } from './version.js'

/** One side of a change of policy. */
interface PolicyState {
  /** 0 if there was no response. */
  status: number
  /** The text of the version; empty if its status is not 2xx. */
  sha256: string
  /** Number of rules in robots.txt, or of links in llms.txt. */
  rules: number
}

/** A change of a hostname's robots.txt or llms.txt, as the worker sends it to the site's process. */
export interface PolicyChange {
  hostname: string
  kind: PolicyKind
  /** When the new version began; milliseconds since 1970. */
  at: number
  from: PolicyState
  to: PolicyState
}

export function stateOf(version: PolicyVersion, policy: Policy | undefined): PolicyState {
  const rules =
    version.kind === 'robots'
      ? (policy?.robots?.groups.reduce((sum, group) => sum + group.rules.length, 0) ?? 0)
      : (policy?.llms?.sections.reduce((sum, section) => sum + section.links.length, 0) ?? 0)
  return { status: version.status, sha256: version.sha256, rules }
}

const stateText = (kind: PolicyKind, { status, rules }: PolicyState): string => {
  const standing = standingOf(status)
  if (standing === 'unreachable') return 'unreachable'
  if (standing === 'unavailable') return `absent (${status})`
  return `${rules} ${kind === 'robots' ? 'rule' : 'link'}${rules === 1 ? '' : 's'}`
}

/** Formats a change as one log line. Nothing in it comes from a client or the origin but the hostname, which is checked. */
export const changeText = ({ hostname, kind, from, to }: PolicyChange): string =>
  `policy changed: ${hostname} ${POLICY_PATHS[kind].slice(1)}: ${stateText(kind, from)} before, ${stateText(kind, to)} now` +
  (to.sha256 === '' ? '' : ` (${to.sha256.slice(0, 12)})`)

/** Formats the first version of a file as one log line. */
export const firstText = (version: PolicyVersion, state: PolicyState): string =>
  `policy: ${version.hostname} ${POLICY_PATHS[version.kind].slice(1)}: ${stateText(version.kind, state)}` +
  (version.reason === undefined ? '' : ` (${JSON.stringify(version.reason)})`)
