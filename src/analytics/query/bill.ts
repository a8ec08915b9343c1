/** The prices at which a site's owner charges agents, in its currency; absent: it is not charged for. */
export interface Prices {
  /** For 10^9 bytes. */
  readonly price_per_gigabyte?: number | undefined
  readonly price_per_thousand_requests?: number | undefined
  readonly price_per_origin_second?: number | undefined
}

/** Amounts that fetches took. */
export interface Taken {
  readonly fetches: number
  readonly bytes: number
  readonly ms: number
  /** Fetches whose row has no size: a page was answered, with 0 bytes. */
  readonly without_bytes: number
  /** Fetches whose row has no duration. */
  readonly without_duration: number
}
/** With what they cost, in millionths of the currency; undefined if nothing of what has a price is known. */
export interface Charged extends Taken {
  readonly cost: bigint | undefined
}

const NOTHING_TAKEN: Taken = { fetches: 0, bytes: 0, ms: 0, without_bytes: 0, without_duration: 0 }

export const addTaken = (all: readonly Taken[]): Taken =>
  all.reduce(
    (a, b) => ({
      fetches: a.fetches + b.fetches,
      bytes: a.bytes + b.bytes,
      ms: a.ms + b.ms,
      without_bytes: a.without_bytes + b.without_bytes,
      without_duration: a.without_duration + b.without_duration,
    }),
    NOTHING_TAKEN,
  )

/** Whether the rows say anything of a size, and of a duration. */
export const hasBytes = ({ fetches, without_bytes }: Taken): boolean => fetches === 0 || without_bytes < fetches
export const hasDuration = ({ fetches, without_duration }: Taken): boolean =>
  fetches === 0 || without_duration < fetches

export const hasPrices = ({ price_per_gigabyte, price_per_thousand_requests, price_per_origin_second }: Prices) =>
  [price_per_gigabyte, price_per_thousand_requests, price_per_origin_second].some((price) => price !== undefined)

export const MICRO = 1_000_000
const GIGABYTE = 1_000_000_000n

/**
 * Returns what fetches cost, rounded half up from the exact amount. Sums are made of such whole numbers, so that lines add up
 * to their total.
 */
export function costOf(taken: Taken, prices: Prices): bigint | undefined {
  // By 10^9: thousands of fetches and of milliseconds have the factor 10^6.
  const charged: readonly [price: number | undefined, amount: bigint][] = [
    [hasBytes(taken) ? prices.price_per_gigabyte : undefined, BigInt(taken.bytes)],
    [prices.price_per_thousand_requests, BigInt(taken.fetches) * 1_000_000n],
    [hasDuration(taken) ? prices.price_per_origin_second : undefined, BigInt(taken.ms) * 1_000_000n],
  ]
  const parts = charged.flatMap(([price, amount]) =>
    price === undefined ? [] : [BigInt(Math.round(price * MICRO)) * amount],
  )
  if (parts.length === 0) return undefined
  return (parts.reduce((sum, part) => sum + part, 0n) + GIGABYTE / 2n) / GIGABYTE
}

/** Charges for what fetches took together. */
export function charge(all: readonly Taken[], prices: Prices): Charged {
  const taken = addTaken(all)
  return { ...taken, cost: costOf(taken, prices) }
}

/** Adds up costs that were rounded on their own: unknown ones add nothing, and if none is known, neither is the sum. */
export const addCharged = (all: readonly Charged[], prices: Prices): Charged => ({
  ...addTaken(all),
  cost: all.length === 0 ? costOf(NOTHING_TAKEN, prices) : addCosts(all),
})
export const addCosts = (all: readonly Pick<Charged, 'cost'>[]): bigint | undefined =>
  all.reduce<bigint | undefined>((sum, { cost }) => (cost === undefined ? sum : (sum ?? 0n) + cost), undefined)
