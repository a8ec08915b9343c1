import type { Policy } from './policy.js'
import { type Kind, PATHS, standingOf, type Version } from './timeline.js'

/** One side of a change of policy, for those who listen. */
export interface PolicySide {
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
  kind: Kind
  /** When the new version began, epoch ms. */
  at: number
  from: PolicySide
  to: PolicySide
}

export function sideOf(version: Version, policy: Policy | undefined): PolicySide {
  const rules =
    version.kind === 'robots'
      ? (policy?.robots?.groups.reduce((sum, group) => sum + group.rules.length, 0) ?? 0)
      : (policy?.llms?.sections.reduce((sum, section) => sum + section.links.length, 0) ?? 0)
  return { status: version.status, sha256: version.sha256, rules }
}

const sideText = (kind: Kind, { status, rules }: PolicySide): string => {
  const standing = standingOf(status)
  if (standing === 'unreachable') return 'unreachable'
  if (standing === 'unavailable') return `absent (${status})`
  const what = kind === 'robots' ? 'rule' : 'link'
  return `${rules} ${what}${rules === 1 ? '' : 's'}`
}

/** The change in one line for the log. Nothing in it is a stranger's but the hostname, which is a hostname. */
export const changeText = ({ hostname, kind, from, to }: PolicyChange): string =>
  `policy changed: ${hostname} ${PATHS[kind].slice(1)}: ${sideText(kind, from)} before, ${sideText(kind, to)} now` +
  (to.sha256 === '' ? '' : ` (${to.sha256.slice(0, 12)})`)

/** What is in force for the first time, in one line. */
export const firstText = (version: Version, side: PolicySide): string =>
  `policy: ${version.hostname} ${PATHS[version.kind].slice(1)}: ${sideText(version.kind, side)}` +
  (version.reason === undefined ? '' : ` (${JSON.stringify(version.reason)})`)
