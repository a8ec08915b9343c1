import type { Policy } from './policy.js'
import { POLICY_PATHS, type PolicyKind, type PolicyVersion, standingOf } from './version.js'

/** One side of a change of policy, for those who listen. */
interface PolicyState {
  /** 0: nothing answered. */
  status: number
  /** Empty where there was no text. */
  sha256: string
  /** Rules of robots.txt, or links of llms.txt. */
  rules: number
}

/** A hostname's robots.txt or llms.txt became another one. Plain data: it goes from process to process. */
export interface PolicyChange {
  hostname: string
  kind: PolicyKind
  /** When the new version began, epoch ms. */
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
  const what = kind === 'robots' ? 'rule' : 'link'
  return `${rules} ${what}${rules === 1 ? '' : 's'}`
}

/** The change in one line for the log. Nothing in it is a stranger's but the hostname, which is a hostname. */
export const changeText = ({ hostname, kind, from, to }: PolicyChange): string =>
  `policy changed: ${hostname} ${POLICY_PATHS[kind].slice(1)}: ${stateText(kind, from)} before, ${stateText(kind, to)} now` +
  (to.sha256 === '' ? '' : ` (${to.sha256.slice(0, 12)})`)

/** What is in force for the first time, in one line. */
export const firstText = (version: PolicyVersion, side: PolicyState): string =>
  `policy: ${version.hostname} ${POLICY_PATHS[version.kind].slice(1)}: ${stateText(version.kind, side)}` +
  (version.reason === undefined ? '' : ` (${JSON.stringify(version.reason)})`)
