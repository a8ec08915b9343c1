import { ApiError } from '../errors.js'
import type { Filter } from '../query/filters.js'

/** A share as one request has it. */
export interface ShareTaken {
  readonly id: number
  readonly site: number
  /** Nobody who looks through it can take them away. */
  readonly filters: readonly Filter[]
  /** Whether its scopes open what is asked for. */
  opens(url: URL): boolean
}

export interface Shares {
  /** The share of `?share=`: a slug, or the token of one that was unlocked. Throws `unauthorized`. */
  authenticate(word: string): Promise<ShareTaken>
}

/** Until there are any. */
export const noShares: Shares = {
  async authenticate() {
    throw new ApiError('unauthorized', 'There is no such link, or no longer.')
  },
}
