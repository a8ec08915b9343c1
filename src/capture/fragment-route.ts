/** The part of a URL's fragment that tells pages apart (`#/...`, `#!...`): part of their path. Empty where it tells none. */
export const fragmentRoute = (fragment: string): string =>
  fragment.startsWith('#/') || fragment.startsWith('#!') ? fragment : ''

/** The path that a server is asked for: without the route, which browsers keep to themselves. */
export function withoutFragmentRoute(pathname: string): string {
  const end = pathname.indexOf('#')
  return end < 0 ? pathname : pathname.slice(0, end)
}
