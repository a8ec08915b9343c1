import type { Catalog } from '../../catalog.js'
import { octetsToText, splitLines } from '../robots-lines.js'
import { MISSPELT_KEYS, recordKind, splitRecord, userAgentNames } from '../robots-records.js'

/** Why parsers read a line of robots.txt differently. */
export const DIFFERENCES = [
  'too_long',
  'byte_order_mark',
  'long_line',
  'no_record',
  'misspelt',
  'unknown_key',
  'preferences',
  'crawl_delay',
  'licence',
  'pattern',
  'token_only',
  'agent_name',
] as const

export interface DifferingLine {
  /** From 1; absent: it is about the whole file. */
  line?: number
  /** The line as written, the first 200 characters. */
  text?: string
  kind: (typeof DIFFERENCES)[number]
  /** The record that Google reads, the name that Google reads, or the agent that has a token and no crawler. */
  detail?: string
}

const MAX_LISTED = 200
const MAX_CHARS = 200

/**
 * Lists the lines that parsers read differently: RFC 9309 against Google's parser, records that are not part of RFC 9309,
 * patterns that parsers of the draft of 1994 take literally, and lines that every parser ignores; the first 200.
 */
export function listDifferingLines(body: string, catalog: Pick<Catalog, 'agents'>): DifferingLine[] {
  const { lines, truncated } = splitLines(body, 'rfc')
  const google = splitLines(body, 'google').lines
  const onlyTokens = new Map(
    catalog.agents.flatMap(({ robots_only, robots_tokens = [], name }) =>
      robots_only ? robots_tokens.map((token) => [token.toLowerCase(), name] as const) : [],
    ),
  )
  const listed: DifferingLine[] = truncated ? [{ kind: 'too_long' }] : []
  if (body.startsWith('\ufeff')) listed.push({ line: 1, kind: 'byte_order_mark', text: clip(lines[0] ?? '') })
  for (const [index, line] of lines.entries()) {
    if (listed.length >= MAX_LISTED) break
    const why = line === google[index] ? differenceOf(line, onlyTokens) : { kind: 'long_line' as const }
    if (why !== undefined) listed.push({ line: index + 1, text: clip(line), ...why })
  }
  return listed
}

const clip = (octets: string): string => octetsToText(octets.slice(0, 4 * MAX_CHARS)).slice(0, MAX_CHARS)

function differenceOf(
  line: string,
  onlyTokens: ReadonlyMap<string, string>,
): Pick<DifferingLine, 'kind' | 'detail'> | undefined {
  const record = splitRecord(line, 'rfc')
  if (record === undefined) return undefined
  if (record === 'no colon') return { kind: 'no_record' }
  const { key, value } = record
  switch (recordKind(key, 'rfc')) {
    case 'unknown': {
      const asGoogle = MISSPELT_KEYS.get(key) ?? recordKind(key, 'google')
      return asGoogle === 'unknown' ? { kind: 'unknown_key' } : { kind: 'misspelt', detail: asGoogle }
    }
    case 'content-signal':
    case 'content-usage':
      return { kind: 'preferences' }
    case 'crawl-delay':
      return { kind: 'crawl_delay' }
    case 'license':
      return { kind: 'licence' }
    case 'allow':
    case 'disallow':
      // A star at the end means the same to everyone, as a rule is a prefix.
      return /\*.|\$$/.test(value) ? { kind: 'pattern' } : undefined
    case 'user-agent': {
      const agent = onlyTokens.get(value.toLowerCase())
      if (agent !== undefined) return { kind: 'token_only', detail: agent }
      const [asGoogle = ''] = userAgentNames(octetsToText(value), 'google')
      const names = userAgentNames(octetsToText(value), 'rfc')
      return names.join() === asGoogle ? undefined : { kind: 'agent_name', detail: asGoogle.slice(0, MAX_CHARS) }
    }
    default:
      return undefined
  }
}
