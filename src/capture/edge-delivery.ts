/** What a server handed over and must not be taken twice: stored with its rows, in their transaction. */
export interface EdgeDelivery {
  site_id: number
  /** Of the request, in one spelling; null of one that came with an API key. */
  signature: string | null
  /** Who numbers its deliveries, 16 hex digits, and the number of this one; null where nobody does. */
  sender: string | null
  number: number | null
  /** Milliseconds since 1970. */
  accepted_at: number
}
