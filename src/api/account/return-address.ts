const MAX_LENGTH = 4_000
/** Addresses of the dashboard, relative to the service: printable ASCII, as browsers write an address. */
const APP_ADDRESS = /^(?:sites|settings|account|share)(?:[/?][!-~]*)?$/
/** A backslash is a slash to browsers, and dots would lead out of the dashboard. */
const LEADS_ELSEWHERE = /\\|(?:^|\/)(?:\.|%2e){1,2}(?:[/?]|$)/i

/**
 * Returns the address to open after signing in: `next` if it is an address of the dashboard, relative to the service's
 * root and without a leading slash, and the root otherwise: the author of the link chose `next`.
 */
export const returnAddress = (next: string | null): `./${string}` =>
  next !== null && next.length <= MAX_LENGTH && APP_ADDRESS.test(next) && !LEADS_ELSEWHERE.test(next)
    ? `./${next}`
    : './'
