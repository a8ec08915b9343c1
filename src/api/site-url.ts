import type { ManagedSite } from '../manage/sites.js'

/**
 * Returns the URL at which readers reach a site: its first domain, by HTTPS. A name of this machine or its network, and a
 * site without a domain, are reached at `listener`, the URL of the proxy's own listener. Returns undefined without a listener.
 */
export function siteUrl({ domains: [domain] }: Pick<ManagedSite, 'domains'>, listener: string | undefined) {
  const local = listener === undefined ? undefined : new URL('/', listener)
  if (domain === undefined) return local?.href
  // With a certificate, the listener itself is what readers reach, at its port.
  const port = local?.protocol === 'https:' && local.port ? `:${local.port}` : ''
  if (!isLocalName(domain)) return `https://${domain}${port}/`
  if (local) local.hostname = domain
  return local?.href
}

/** Returns whether a hostname has a meaning on one machine or network only: `localhost`, an address, a name without a dot. */
const isLocalName = (hostname: string): boolean =>
  !hostname.includes('.') || hostname.endsWith('.localhost') || /^[\d.]+$|:/.test(hostname)
