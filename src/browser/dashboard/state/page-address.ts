/** A site of this machine has no certificate. */
const LOCAL: readonly string[] = ['localhost', '127.0.0.1']

/** Returns the address of a page. Rows have hostnames without port, so a page of the site's own hostname takes the site's. */
export function pageAddress(hostname: string, pathname: string, site: string | undefined): string {
  const { hostname: own, origin } = site === undefined ? { hostname: '', origin: '' } : new URL(site)
  return `${hostname === own ? origin : `${LOCAL.includes(hostname) ? 'http' : 'https'}://${hostname}`}${pathname}`
}
