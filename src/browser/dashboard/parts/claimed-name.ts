import { t } from '../texts/index.js'

/** The evidence about who sent fetches: a class of violations, a verdict, or counts. */
interface Claim {
  agent_id?: string | undefined
  severity?: string | undefined
  verification?: string | undefined
  verified?: boolean | number | undefined
  fetches?: number | undefined
  spoofed?: number | undefined
}

/** The agents that the catalogue does not name: they claim no name. */
export const OTHER = 'other'

/** The name of an operator; the agents that the catalogue does not name have none. */
export const operatorName = (operator: string): string => (operator === 'Unknown' ? t().parts.unknown : operator)

/** Whether a name is only what the fetches say: they failed the check, or nothing proves that they are the agent's. */
export function isOnlyClaimed({ severity, verification, verified, fetches, spoofed }: Claim): boolean {
  if (severity !== undefined) return severity === 'unverified' || verified === false
  if (verification !== undefined) return verification === 'spoofed'
  return spoofed !== undefined && spoofed > 0 && spoofed === fetches
}

/** The name of an agent or operator, in quotes if it is only claimed: an operator is not accused of what other clients did. */
export const claimedName = (name: string, claim: Claim): string =>
  isOnlyClaimed(claim) && claim.agent_id !== OTHER ? t().parts.quoted(name) : name
