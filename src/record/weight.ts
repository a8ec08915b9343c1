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
  const { headers } = observation
  for (const name of ['user_agent', 'pathname', 'hostname', 'query', 'referrer', 'content_type'] as const) {
    const text = observation[name]
    if (text !== undefined && text.length > TEXT) short = { ...short, [name]: cap(text, TEXT) }
  }
  for (const name in headers) {
    const text = headers[name]
    if (text !== undefined && text.length > TEXT)
      short = { ...short, headers: { ...short.headers, [name]: cap(text, TEXT) } }
  }
  return short
}

/** Characters that an observation keeps in memory. */
export function weightOf({ user_agent, pathname, hostname, query, referrer, headers }: Observation): number {
  let weight = user_agent.length + pathname.length + hostname.length + (query?.length ?? 0) + (referrer?.length ?? 0)
  for (const name in headers) weight += headers[name]?.length ?? 0
  return weight
}
