import type { Agent } from './catalog.js'

/** By what its operator lets others check that a request is this agent's; empty when nothing is published. */
export function verificationMethods(agent: Agent): ('ranges' | 'rdns' | 'web_bot_auth')[] {
  if (agent.client_side) return []
  const ways: ('ranges' | 'rdns' | 'web_bot_auth')[] = []
  if (agent.ranges_url !== undefined) ways.push('ranges')
  if (agent.rdns_suffixes !== undefined) ways.push('rdns')
  if (agent.web_bot_auth !== undefined) ways.push('web_bot_auth')
  return ways
}
