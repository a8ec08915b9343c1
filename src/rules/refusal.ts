import type { DecidingRule, RuleAction } from './rule.js'

/** An answer that takes the place of the origin's. */
export interface Refusal {
  status: number
  /** Names in lower case; without `content-length`. */
  headers: readonly (readonly [name: string, value: string])[]
  body: string
}

const STATUS = { block: 403, pay: 402, limit: 429, gone: 410 } as const satisfies Record<
  Exclude<RuleAction, 'allow'>,
  number
>
/** The text that an agent reads where the owner has written nothing. */
const DEFAULT_TEXT = {
  block: 'This site does not allow this fetch.\n',
  pay: 'A licence is required to fetch this page.\n',
  limit: 'Too many fetches. Come back after the time that Retry-After names.\n',
  gone: 'This page is gone.\n',
} as const
const TYPES = { plain: 'text/plain', html: 'text/html', json: 'application/json' } as const
type TextForm = keyof typeof TYPES

/**
 * Returns the answer of a rule that refuses: 403, 402, 429 or 410 with the owner's text in the form that `Accept` prefers.
 * `retryAfter` are seconds, for `limit`. A licence is named by `Link` and `WWW-Authenticate: License` (RSL 1.0, CAP).
 */
export function refusalOf(rule: DecidingRule, accept: string | undefined, retryAfter: number): Refusal | undefined {
  const { action, text, license_url } = rule
  if (action === 'allow') return undefined
  const form = preferredForm(text, accept)
  const headers: [string, string][] = [
    ['content-type', `${TYPES[form]}; charset=utf-8`],
    ['cache-control', 'no-store'],
    ['vary', 'accept, user-agent'],
  ]
  if (action === 'limit') headers.push(['retry-after', String(retryAfter)])
  if (action === 'pay' && license_url !== undefined) {
    headers.push(['link', `<${new URL(license_url).href}>; rel="license"; type="application/rsl+xml"`])
    headers.push(['www-authenticate', 'License error="invalid_request", error_description="A licence is required"'])
  }
  return { status: STATUS[action], headers, body: text[form] ?? DEFAULT_TEXT[action] }
}

/** Returns the form of an existing text that `Accept` (RFC 9110 12.5.1) gives the highest weight; plain wins a tie. */
function preferredForm(text: DecidingRule['text'], accept: string | undefined): TextForm {
  let best: TextForm = 'plain'
  let bestWeight = weightOf('text/plain', accept)
  for (const form of ['html', 'json'] as const) {
    const weight = text[form] === undefined ? -1 : weightOf(TYPES[form], accept)
    if (weight <= bestWeight && !(weight === bestWeight && text[best] === undefined)) continue
    best = form
    bestWeight = weight
  }
  return best
}

/** Characters of `Accept` that are read: clients choose it. */
const MAX_ACCEPT_CHARS = 1_000

/** Returns the weight that `Accept` gives a type: by its most specific range, 0 without one, and 1 without the header. */
function weightOf(type: string, accept: string | undefined): number {
  if (accept === undefined || accept.trim() === '') return 1
  let weight = 0
  let specificity = -1
  for (const range of accept.slice(0, MAX_ACCEPT_CHARS).toLowerCase().split(',')) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim())
    const rank = name === type ? 2 : name === `${type.split('/', 1)[0]}/*` ? 1 : name === '*/*' ? 0 : -1
    if (rank <= specificity) continue
    specificity = rank
    const q = Number(parameters.find((one) => one.startsWith('q='))?.slice(2) ?? 1)
    weight = q >= 0 && q <= 1 ? q : 1
  }
  return weight
}
