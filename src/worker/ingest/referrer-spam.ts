import { readFileSync } from 'node:fs'
import { withoutWww } from '../../capture/site.js'

/** Hosts that the operator adds to the shipped list of referrer spam, and hosts that the operator takes off it. */
export interface ReferrerSpamSettings {
  spam_referrers: readonly string[]
  trusted_referrers: readonly string[]
}

/**
 * Returns a function that says whether a host is on the list of referrer spam (`referrer-spam.txt`, with what the operator
 * added and took off), itself or by a host above it. The nearest host that is named decides, at a dot; the `www.` that a
 * referrer's host has lost may stand before it.
 */
export function createReferrerSpam({ spam_referrers, trusted_referrers }: ReferrerSpamSettings) {
  const shipped = readFileSync(new URL('./referrer-spam.txt', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  const isSpam = new Map([...shipped, ...spam_referrers].map((host) => [withoutWww(host), true]))
  for (const host of trusted_referrers) isSpam.set(withoutWww(host), false)
  return (host: string): boolean => {
    for (let at = 0; ; ) {
      const named = isSpam.get(host.slice(at))
      if (named !== undefined) return named
      at = host.indexOf('.', at) + 1
      if (at === 0) return false
    }
  }
}
