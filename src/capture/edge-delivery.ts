/** Identifies one delivery by another server, so that it is stored once. It is committed together with its rows. */
export interface EdgeDelivery {
  site_id: number
  /** The request's signature in canonical spelling; null for a request with an API key. */
  signature: string | null
  /** The shipper that numbers its deliveries (16 hex digits) and this delivery's number; null without numbers. */
  sender: string | null
  number: number | null
  /** Milliseconds since 1970. */
  accepted_at: number
}
