import type { VerifiableRequest } from '../verdict.js'
import { type CoveredComponent, MAX_FIELD_CHARS, memberOf, type SignatureInput } from './header-fields.js'

/** A signature base, or the reason for its absence: the request contradicts itself or was not observed closely enough. */
type Base = { text: string } | { state: 'unusable' | 'undecidable'; reason: string }

/** No honest signer covers more components. */
const MAX_COMPONENTS = 32

const DEFAULT_PORT: Readonly<Record<string, string>> = { http: ':80', https: ':443' }

/**
 * Builds the text that was signed (RFC 9421 2.5) for a request over `scheme`. Field values are as Node joined their lines.
 * The result is `undecidable` if a covered field was observed only in part.
 */
export function signatureBase(signed: SignatureInput, request: VerifiableRequest, scheme: string): Base {
  const { components } = signed
  if (components.length > MAX_COMPONENTS) return { state: 'undecidable', reason: 'too_many_components' }
  const lines: string[] = []
  const covered = new Set<string>()
  for (const component of components) {
    if (covered.has(component.identifier)) return { state: 'unusable', reason: 'component_repeated' }
    covered.add(component.identifier)
    const value = componentValue(component, request, scheme)
    if (typeof value !== 'string') return value
    if (value.length > MAX_FIELD_CHARS) return { state: 'undecidable', reason: 'too_long' }
    // RFC 9421 2.5: a base is ASCII. A line break would add a component that was not signed.
    if (!/^[\t\x20-\x7e]*$/.test(value)) return { state: 'unusable', reason: 'not_ascii' }
    lines.push(`${component.identifier}: ${value}`)
  }
  lines.push(`"@signature-params": ${signed.params}`)
  return { text: lines.join('\n') }
}

function componentValue(
  component: CoveredComponent,
  request: VerifiableRequest,
  scheme: string,
): string | Exclude<Base, { text: string }> {
  const { name, key, unknown } = component
  if (unknown.includes('req') || name === '@status') return { state: 'unusable', reason: 'component_of_response' }
  if (unknown.length > 0) return { state: 'undecidable', reason: 'unsupported_component' }
  if (!name.startsWith('@')) return fieldValue(name, key, request)
  if (key !== undefined) return { state: 'unusable', reason: 'malformed' }
  const derived = DERIVED[name]
  if (derived === undefined) return { state: 'undecidable', reason: 'unsupported_component' }
  return derived(request, scheme) ?? { state: 'undecidable', reason: 'unobserved_component' }
}

/** Derived components (RFC 9421 2.2). Undefined if the request was not observed closely enough. */
const DERIVED: Readonly<Record<string, (request: VerifiableRequest, scheme: string) => string | undefined>> = {
  '@method': ({ method }) => method,
  '@scheme': (_, scheme) => scheme,
  '@authority': authority,
  '@path': ({ pathname }) => pathname,
  '@query': ({ query }) => `?${query ?? ''}`,
  '@request-target': ({ signed }) => signed?.target,
  '@target-uri': (request, scheme) => {
    const host = authority(request, scheme)
    if (host === undefined) return undefined
    return `${scheme}://${host}${request.pathname}${request.query === undefined ? '' : `?${request.query}`}`
  },
}

function authority({ signed }: VerifiableRequest, scheme: string): string | undefined {
  const host = signed?.authority.toLowerCase()
  const port = DEFAULT_PORT[scheme]
  return port !== undefined && host?.endsWith(port) ? host.slice(0, -port.length) : host
}

function fieldValue(
  name: string,
  key: string | undefined,
  request: VerifiableRequest,
): string | Exclude<Base, { text: string }> {
  const value = observedField(name, request)?.trim()
  // A field that was not observed may have been sent.
  if (value === undefined) return { state: 'undecidable', reason: 'unobserved_component' }
  if (key === undefined) return value
  if (value.length > MAX_FIELD_CHARS) return { state: 'undecidable', reason: 'too_long' }
  return memberOf(value, key) ?? { state: 'unusable', reason: 'component_missing' }
}

function observedField(name: string, { headers, signed, user_agent, referrer }: VerifiableRequest): string | undefined {
  if (name === 'host') return signed?.authority
  // An observation does not distinguish an absent user agent from an empty one.
  if (name === 'user-agent') return user_agent === '' ? undefined : user_agent
  if (name === 'referer') return referrer
  return headers !== undefined && Object.hasOwn(headers, name) ? headers[name] : undefined
}
