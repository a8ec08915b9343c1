import { memoize } from '../../base/cache.js'
import { MAX_CHARACTERS, truncate } from '../../base/text-limits.js'

/** The words of the dimension `accepts`. `any`: every type, or every type of text or application. */
export type AcceptedFormat = 'markdown' | 'html' | 'json' | 'text' | 'xml' | 'image' | 'other' | 'any'

interface Choice {
  readonly format: AcceptedFormat
  readonly weight: number
  /** 2: a type; 1: all types of a kind; 0: every type. */
  readonly specificity: number
}

/** Agents send few different headers. */
const parseCached = memoize(512, (header) => ({ format: parseHeader(header) }))

/**
 * Returns the format that `Accept` (RFC 9110 12.5.1) asks for: that of the type with the highest weight, and of several the
 * most specific one. Markdown wins a tie, because agents that name it name HTML as well; else the type that is named first.
 * Null without the header, and if it accepts nothing or cannot be read.
 */
export const acceptedFormat = (accept: string | undefined): AcceptedFormat | null =>
  accept ? parseCached(truncate(accept, MAX_CHARACTERS.text)).format : null

function parseHeader(header: string): AcceptedFormat | null {
  // A quoted value may contain commas; one that never ends reaches to the end.
  const members = header.replace(/"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)/g, '""').split(',')
  let best: Choice | undefined
  for (const member of members) {
    const choice = parseMember(member)
    if (choice !== undefined && (best === undefined || isBetter(choice, best))) best = choice
  }
  return best?.format ?? null
}

const isBetter = (choice: Choice, than: Choice): boolean => {
  if (choice.weight !== than.weight) return choice.weight > than.weight
  if (choice.specificity !== than.specificity) return choice.specificity > than.specificity
  return choice.format === 'markdown' && than.format !== 'markdown'
}

const MEDIA_RANGE = /^\s*([\w!#$%&'*+.^`|~-]+)\/([\w!#$%&'*+.^`|~-]+)\s*$/
/** RFC 9110 12.4.2. */
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/** Returns undefined for a member that accepts nothing (`q=0`) or is malformed. */
function parseMember(member: string): Choice | undefined {
  const [range = '', ...parameters] = member.split(';')
  const [, type = '', subtype = ''] = MEDIA_RANGE.exec(range.toLowerCase()) ?? []
  if (type === '' || (type === '*' && subtype !== '*')) return undefined
  const [, given = '1'] = parameters.map((one) => /^\s*q\s*=\s*(.*?)\s*$/i.exec(one)).find((match) => match) ?? []
  if (!WEIGHT.test(given) || Number(given) === 0) return undefined
  const specificity = type === '*' ? 0 : subtype === '*' ? 1 : 2
  return { format: formatOf(type, subtype), weight: Number(given), specificity }
}

function formatOf(type: string, subtype: string): AcceptedFormat {
  if (type === 'image') return 'image'
  if (subtype === '*') return type === '*' || type === 'text' || type === 'application' ? 'any' : 'other'
  if (type !== 'text' && type !== 'application') return 'other'
  if (/^(?:x-)?markdown$/.test(subtype)) return 'markdown'
  if (subtype === 'html' || subtype === 'xhtml+xml') return 'html'
  if (/^(?:json|x-ndjson|.*\+json)$/.test(subtype)) return 'json'
  if (/^(?:xml|.*\+xml)$/.test(subtype)) return 'xml'
  return type === 'text' && subtype === 'plain' ? 'text' : 'other'
}
