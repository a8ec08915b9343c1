/** The hostname of the page that asks, as its browser says it; undefined where nothing does. */
export function pageHostname({ headers, url }: Request): string | undefined {
  const origin = headers.get('origin')
  // `null`: a sandboxed frame, or a page that was saved.
  if (origin !== null) return hostnameOfUrl(origin)
  const referrer = headers.get('referer')
  if (referrer !== null) return hostnameOfUrl(referrer)
  // A page that tells nobody where it is, and lies where the request went.
  return headers.get('sec-fetch-site') === 'same-origin' ? hostnameOfUrl(url) : undefined
}

const hostnameOfUrl = (url: string): string | undefined => {
  if (!URL.canParse(url)) return undefined
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || protocol === 'http:' ? hostname : undefined
}
