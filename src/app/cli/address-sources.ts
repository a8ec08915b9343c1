import type { ProxyCounts } from '../../api/metrics.js'
import { isGlobal, isTrusted, parseAddress, type Trust } from '../../base/address.js'

/**
 * Counts how the clients of the site's requests become known, so that `doctor` can say which address is believed and why.
 * No client's address is kept: the peer that is named is one of a private network, which is a proxy of the operator.
 */
export function createAddressSources(trust: Trust) {
  const counts = { direct: 0, forwarded: 0, unnamed: 0, ignored: 0 }
  let ignoredPeer: string | undefined
  return {
    count(peer: string, isNamed: boolean): void {
      if (isTrusted(peer, trust)) counts[isNamed ? 'forwarded' : 'unnamed'] += 1
      else if (!isNamed) counts.direct += 1
      else {
        counts.ignored += 1
        const address = parseAddress(peer)
        if (address && !isGlobal(address)) ignoredPeer = peer.replace(/^::ffff:/, '')
      }
    },
    read: (): Pick<ProxyCounts, 'addresses' | 'ignored_peer'> => ({
      addresses: { ...counts },
      ...(ignoredPeer !== undefined && { ignored_peer: ignoredPeer }),
    }),
  }
}
