import { cap } from './caps.js'
import type { Observation } from './observation.js'

/** No part of a row is made from more of one text than this; the rest of it a stranger made up to fill our memory. */
const TEXT = 8_192

/**
 * The observation without the far end of texts that are longer than any row could hold. What is cut is copied: the
 * longest header a listener takes is 64 KB, and as many as the recorder's limit of those is all the memory there is.
 */
export function shortened(observation: Observation): Observation {
  let short: Observation = observation
  const { headers, signed } = observation
  for (const name of ['user_agent', 'pathname', 'hostname', 'query', 'referrer', 'content_type'] as const) {
    const text = observation[name]
    if (text !== undefined && text.length > TEXT) short = { ...short, [name]: cap(text, TEXT) }
  }
  for (const name in headers) {
    const text = headers[name]
    if (text !== undefined && text.length > TEXT)
      short = { ...short, headers: { ...short.headers, [name]: cap(text, TEXT) } }
  }
  if (signed !== undefined && signed.authority.length + signed.target.length > TEXT) {
    // A signature over what was cut is beyond what we can tell, never a wrong one: nothing of that length is looked at.
    const { scheme } = signed
    short = { ...short, signed: { scheme, authority: cap(signed.authority, TEXT), target: cap(signed.target, TEXT) } }
  }
  return short
}

/** Characters that an observation keeps in memory. */
export function weightOf({ user_agent, pathname, hostname, query, referrer, headers, signed }: Observation): number {
  let weight = user_agent.length + pathname.length + hostname.length + (query?.length ?? 0) + (referrer?.length ?? 0)
  for (const name in headers) weight += headers[name]?.length ?? 0
  if (signed !== undefined) weight += signed.authority.length + signed.target.length
  return weight
}
