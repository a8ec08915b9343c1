const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** Where a link of ours leads: `request` is what it was asked for by. */
export type LinkBuilder = (
  request: Request,
  path: '/sign-in' | '/reset-password' | '/confirm-email' | '/invitation',
  token?: string,
) => string

/**
 * Links begin with `public_url`, else with where the request was sent, but only to this very machine: any other `Host` is
 * the sender's to choose, and would be where the token of another goes. Else with `service`, where it listens.
 */
export function createLinkBuilder(known: {
  public_url?: string | undefined
  service?: string | undefined
}): LinkBuilder {
  return (request, path, token) => {
    const { hostname, origin } = new URL(request.url)
    const base = known.public_url ?? (LOOPBACK.test(hostname) ? origin : known.service) ?? ''
    return `${base.replace(/\/+$/, '')}${path}${token === undefined ? '' : `?token=${token}`}`
  }
}
