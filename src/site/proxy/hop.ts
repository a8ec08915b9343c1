import { plainAddress } from '../../base/address.js'
import type { Incoming } from './response-writer.js'

/** The facts about the connection on which a request came, which no header can forge. */
export interface Hop {
  /** The peer's address, IPv4 in dotted form. */
  peer: string
  /** The peer is a proxy whose statements about the client are believed (`--trust-proxy`). */
  trusted: boolean
  proto: 'http' | 'https'
  /** The protocol splits `Cookie` into several fields (HTTP/2). */
  splitsCookies: boolean
}

/** Returns the hop of a request. */
export function hopOf(req: Incoming, isTrustedPeer: (peer: string) => boolean): Hop {
  const peer = plainAddress(req.socket.remoteAddress ?? '')
  const proto = 'encrypted' in req.socket && req.socket.encrypted === true ? 'https' : 'http'
  return { peer, trusted: isTrustedPeer(peer), proto, splitsCookies: req.httpVersionMajor === 2 }
}

/** The statements of a request about earlier hops; empty where it has none. */
interface Claims {
  forwarded_for: string
  forwarded_host: string
  forwarded_proto: string
  forwarded: string
}
export const NO_CLAIMS: Claims = { forwarded_for: '', forwarded_host: '', forwarded_proto: '', forwarded: '' }

/**
 * Appends this hop to a request's fields.
 * `X-Forwarded-For` always gains the peer's address at its right end, so that a reader who walks it from the right over
 * trusted proxies finds the client, whatever stands further left. `-Proto` and `-Host` hold one value each, which an
 * origin believes as it stands: the claim of an untrusted peer is replaced, that of a trusted peer is kept.
 * `Forwarded` (RFC 7239) gains the same hop if the request has it. Creating one would give an origin that prefers it a
 * shorter chain than `X-Forwarded-For`.
 */
export function appendHopFields(fields: string[], claims: Claims, hop: Hop, host: string): void {
  fields.push('X-Forwarded-For', claims.forwarded_for === '' ? hop.peer : `${claims.forwarded_for}, ${hop.peer}`)
  fields.push('X-Forwarded-Proto', hop.trusted && claims.forwarded_proto !== '' ? claims.forwarded_proto : hop.proto)
  const publicHost = hop.trusted && claims.forwarded_host !== '' ? claims.forwarded_host : host
  if (publicHost !== '') fields.push('X-Forwarded-Host', publicHost)
  if (claims.forwarded !== '') fields.push('Forwarded', `${claims.forwarded}, ${forwardedElement(hop, host)}`)
}

function forwardedElement(hop: Hop, host: string): string {
  const node = hop.peer.includes(':') ? `"[${hop.peer}]"` : hop.peer
  const hostParameter = host === '' ? '' : `;host="${host.replaceAll(/["\\]/g, '\\$&')}"`
  return `for=${node === '' ? 'unknown' : node}${hostParameter};proto=${hop.proto}`
}
