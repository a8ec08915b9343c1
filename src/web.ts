import { z } from 'zod'
import { Agent } from './agents/agent.js'
import catalog from './agents/catalog.json' with { type: 'json' }
import { createSend } from './ship/web/send.js'
import { createWebShipper, type WebShipper } from './ship/web/shipper.js'

export type { WebShipperStats } from './ship/web/shipper.js'
export type WebReadership = WebShipper

/** Where the rows go. */
export interface WebOptions {
  /** The URL of another readership's service. */
  collector: string
  /** The site's id there (default 1). */
  site?: number
  /** The site's ingest key there: a secret, from the platform's own place for those. */
  ingest_key: string
  /** Told when rows cannot be shipped (default: `console.warn`). */
  log?(message: string): void
}

const Options = z.strictObject({
  collector: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL, as in https://stats.example.com' })
    .refine((value) => !/[?#@]/.test(value), 'must have no query, fragment or password'),
  site: z.int('must be a whole number').min(1, 'must be 1 or more').default(1),
  ingest_key: z.string('must be a text').regex(/^\S+$/, 'must be one word'),
  log: z.unknown().optional(),
})

/**
 * Readership where there is no Node and no disk (Workers, Deno, Bun): what is recorded waits in memory until a flush has
 * sent it to a collector. It makes nothing of its own until the first request. Throws one line for an option that is wrong.
 */
export function webReadership(options: WebOptions): WebReadership {
  const parsed = Options.safeParse(options)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new TypeError(`readership: ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is wrong'}`)
  }
  const { collector, site, ingest_key } = parsed.data
  const now = () => Date.now()
  let shipper: WebShipper | undefined
  const made = () => {
    shipper ??= createWebShipper({
      site,
      agents: z.array(Agent).parse(catalog.agents),
      send: createSend(collector, ingest_key, now),
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
    record: (observation) => made().record(observation),
    flush: () => made().flush(),
    stats: () => made().stats(),
  }
}
