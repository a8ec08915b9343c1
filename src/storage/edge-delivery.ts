/**
 * Identifies one delivery by another server, and is committed together with its rows. A delivery is recognised by its
 * signature or its sender's number; one with an API key and without a number is stored again if it is sent again.
 */
export interface EdgeDelivery {
  /** The site; 0 for rows that this process has observed itself and keeps on disk meanwhile. */
  site_id: number
  /** The request's signature in canonical spelling; null for a request with an API key. */
  signature: string | null
  /** The shipper that numbers its deliveries (16 hex digits) and this delivery's number; null without numbers. */
  sender: string | null
  number: number | null
  /** Milliseconds since 1970. */
  accepted_at: number
}
