import { OutboundError } from './outbound.js'

/** All addresses of a name, as text. Rejects where there is none or nobody answers. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

/** What of `node:dns/promises` is asked; a `Resolver` is one. */
export interface Names {
  resolve4(hostname: string): Promise<string[]>
  resolve6(hostname: string): Promise<string[]>
}

/**
 * By DNS itself rather than by the system: it does not hold a thread of the pool that the files need, and names of the
 * local network that only this machine's own tables know stay unknown.
 */
export function createResolve(names: Names): Resolve {
  return async (hostname) => {
    const answers = await Promise.allSettled([names.resolve4(hostname), names.resolve6(hostname)])
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length > 0) return addresses
    const failed = answers.find((answer) => answer.status === 'rejected')
    throw new OutboundError('unreachable', `${hostname} has no address`, { cause: failed?.reason })
  }
}
