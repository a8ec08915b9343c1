import { z } from 'zod'
import { Agent } from './agents/agent.js'
import catalog from './agents/catalog.json' with { type: 'json' }
import { describeUnknownOption } from './base/option-names.js'
import { createWebClient } from './site/shipping/web/web-client.js'
import type { WebReadership } from './site/shipping/web/web-readership.js'
import { createWebShipper } from './site/shipping/web/web-shipper.js'

export type { WebReadership, WebShipperStats } from './site/shipping/web/web-readership.js'

/** The collector that rows are shipped to. */
export interface WebOptions {
  /** The URL of the collector's service. */
  collector: string
  /** The site's id at the collector (default 1). */
  site?: number
  /** The site's ingest key at the collector: a secret, to be kept where the platform keeps secrets. */
  ingest_key: string
  /** Receives a message when rows cannot be shipped (default: `console.warn`). */
  log?(message: string): void
}

const Options = z.object({
  collector: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL, as in https://stats.example.com' })
    .refine((value) => !/[?#@]/.test(value), 'must have no query, fragment or password'),
  site: z.int('must be a whole number').min(1, 'must be 1 or more').default(1),
  ingest_key: z.string('must be a text').regex(/^\S+$/, 'must be one word'),
  log: z.unknown().optional(),
})

/**
 * Runs readership without Node and without a disk (Workers, Deno, Bun): rows wait in memory until a flush has sent them to
 * a collector. Creates nothing until the first request, because Workers allow no randomness before that. Throws a
 * `TypeError` of one line that names a wrong option.
 */
export function webReadership(options: WebOptions): WebReadership {
  const unknown = describeUnknownOption('webReadership', options, Object.keys(Options.shape))
  if (unknown !== undefined) throw new TypeError(`readership: ${unknown}`)
  const parsed = Options.safeParse(options)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new TypeError(`readership: ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is wrong'}`)
  }
  const { collector, site, ingest_key } = parsed.data
  const now = () => Date.now()
  let shipper: WebReadership | undefined
  const getShipper = () => {
    shipper ??= createWebShipper({
      site,
      agents: z.array(Agent).parse(catalog.agents),
      send: createWebClient(collector, ingest_key, now),
      now,
      random: Math.random,
      id: () =>
        Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, '0')).join(''),
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      log: options.log ?? ((message) => console.warn(`readership: ${message}`)),
    })
    return shipper
  }
  return {
    record: (observation) => getShipper().record(observation),
    flush: () => getShipper().flush(),
    stats: () => getShipper().stats(),
  }
}
