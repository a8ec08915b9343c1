/** Returns the part of a URL fragment that names a page of a single-page app (`#/...`, `#!...`); empty otherwise. */
export const fragmentRoute = (fragment: string): string =>
  fragment.startsWith('#/') || fragment.startsWith('#!') ? fragment : ''

/** Returns the path that the server was asked for: without the route, which browsers do not send. */
export function withoutFragmentRoute(pathname: string): string {
  const end = pathname.indexOf('#')
  return end < 0 ? pathname : pathname.slice(0, end)
}
