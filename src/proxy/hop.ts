/** What we know first-hand of the connection a request came on. */
export interface Hop {
  /** The peer's address, IPv4 in dotted form. */
  peer: string
  /** The peer is a proxy whose word on the client counts (`--trust-proxy`). */
  trusted: boolean
  proto: 'http' | 'https'
  /** The protocol splits `Cookie` into several fields (HTTP/2). */
  splitsCookies: boolean
}

/** What a request already carried of earlier hops; empty where it carried nothing. */
export interface Claims {
  forwarded_for: string
  forwarded_host: string
  forwarded_proto: string
  forwarded: string
}
export const NO_CLAIMS: Claims = { forwarded_for: '', forwarded_host: '', forwarded_proto: '', forwarded: '' }

/**
 * Append this hop to a request's fields.
 * `X-Forwarded-For` always gains the peer's address at its right end, so that who walks it from the right over
 * trusted hops arrives at the truth whatever stood left of it. `-Proto` and `-Host` hold one value each, which an
 * origin believes as it stands: an untrusted peer's claim is replaced, a trusted one's is kept.
 * `Forwarded` (RFC 7239) gains the same hop where the request had it; making one of nothing would leave an origin
 * that prefers it with a shorter chain than `X-Forwarded-For`.
 */
export function appendHopFields(fields: string[], claims: Claims, hop: Hop, host: string): void {
  fields.push('X-Forwarded-For', claims.forwarded_for === '' ? hop.peer : `${claims.forwarded_for}, ${hop.peer}`)
  fields.push('X-Forwarded-Proto', hop.trusted && claims.forwarded_proto !== '' ? claims.forwarded_proto : hop.proto)
  const claimed = hop.trusted && claims.forwarded_host !== '' ? claims.forwarded_host : host
  if (claimed !== '') fields.push('X-Forwarded-Host', claimed)
  if (claims.forwarded !== '') fields.push('Forwarded', `${claims.forwarded}, ${forwardedElement(hop, host)}`)
}

function forwardedElement(hop: Hop, host: string): string {
  const node = hop.peer.includes(':') ? `"[${hop.peer}]"` : hop.peer
  const at = host === '' ? '' : `;host="${host.replaceAll(/["\\]/g, '\\$&')}"`
  return `for=${node === '' ? 'unknown' : node}${at};proto=${hop.proto}`
}
