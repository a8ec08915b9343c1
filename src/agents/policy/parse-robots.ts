import { mergePreferences, type Preferences, parsePreferences } from './preferences.js'
import { createProblemList, type FileProblem } from './problems.js'
import { octetsToText, type RobotsMode, splitLines, trimAscii } from './robots-lines.js'
import { MISSPELT_KEYS, recordKind, splitRecord, userAgentNames } from './robots-records.js'

export interface RobotsRule {
  allow: boolean
  /** As written, decoded as UTF-8. */
  pattern: string
  line: number
  /** As written, one character per octet; the matcher compares this form. */
  octets: string
}

/** A `Content-Usage` record (AIPREF): preferences for a path, as written. */
export interface ContentUsage {
  /** `/` if the record names no path. */
  pattern: string
  preferences: Preferences
  line: number
}

export interface RobotsGroup {
  /** Values of its User-agent lines as written. */
  user_agents: readonly string[]
  rules: readonly RobotsRule[]
  /** Line of its first User-agent, from 1. */
  line: number
  /** Seconds. Not part of RFC 9309: shown, but never judged. */
  crawl_delay?: number
  content_signals?: Preferences
  content_usage?: readonly ContentUsage[]
}

/** A `License` record (RSL 1.0): the URL of a licence that applies to the whole file, wherever it stands. */
export interface RobotsLicense {
  url: string
  line: number
}

export interface RobotsTxt {
  groups: readonly RobotsGroup[]
  sitemaps: readonly string[]
  licenses: readonly RobotsLicense[]
  /** The first 100. */
  problems: readonly FileProblem[]
  /** True if the file is longer than the 500 KiB that are read. */
  truncated: boolean
}

interface OpenGroup extends RobotsGroup {
  user_agents: string[]
  rules: RobotsRule[]
  content_usage?: ContentUsage[]
}

/**
 * Parses a robots.txt into its groups as written, not merged (RFC 9309 2.2), and the other records. Only a rule ends a run
 * of User-agent lines; Sitemap, License, Crawl-delay, Content-Signal and unknown records do not. Takes linear time for any input.
 * Faults of the file are in `problems`, the first 100.
 */
export function parseRobots(body: Uint8Array | string, mode: RobotsMode = 'rfc'): RobotsTxt {
  const { lines, truncated } = splitLines(body, mode)
  const groups: OpenGroup[] = []
  const sitemaps: string[] = []
  const licenses: RobotsLicense[] = []
  const { problems, report } = createProblemList()
  const start = trimAscii(lines.find((line) => trimAscii(line) !== '') ?? '')
  // Agents read such a file line by line like any other (RFC 9309 2.3.1.5).
  if (/^<(?:!doctype|html|head|body|\?xml)\b/i.test(start)) report('begins as HTML: only lines with records are read')
  if (/^(?:\xff\xfe|\xfe\xff)/.test(start)) report('the file is UTF-16, but agents read UTF-8')
  if (truncated) report('longer than 500 KiB: the rest is not read')
  if (lines.some((line) => line.includes('\0'))) report('contains NUL octets')

  let group: OpenGroup | undefined
  let naming = false
  let interrupted = false
  for (const [index, text] of lines.entries()) {
    const line = index + 1
    const record = splitRecord(text, mode)
    if (record === undefined) continue
    if (record === 'no colon') {
      report('neither a record nor a comment', line)
      continue
    }
    const { key, value } = record
    const kind = recordKind(key, mode)
    if (kind === 'user-agent') {
      if (group === undefined || !naming) {
        group = { user_agents: [], rules: [], line }
        groups.push(group)
      } else if (interrupted)
        report(`joins the group of line ${group.line}: only Allow or Disallow ends a list of user agents`, line)
      naming = true
      interrupted = false
      group.user_agents.push(octetsToText(value))
      if (userAgentNames(octetsToText(value), mode).length === 0) report('names no user agent', line)
      continue
    }
    interrupted = naming
    if (kind === 'sitemap') {
      if (value === '') report('Sitemap without a URL', line)
      else sitemaps.push(octetsToText(value))
    } else if (kind === 'license') {
      if (isAbsoluteUrl(value)) licenses.push({ url: octetsToText(value), line })
      else report('License without an absolute URL', line)
    } else if (kind === 'unknown') {
      const meant = MISSPELT_KEYS.get(key)
      if (meant !== undefined) report(`is not ${meant}, although Google reads it as such`, line)
    } else if (group === undefined) report('comes before the first User-agent and applies to no agent', line)
    else if (kind === 'allow' || kind === 'disallow') {
      naming = false
      if (value !== '' && !/^[/*]/.test(value)) report('a path that does not begin with / or * matches nothing', line)
      group.rules.push({ allow: kind === 'allow', pattern: octetsToText(value), line, octets: value })
    } else if (!addExtension(group, kind, value, line)) report(`this ${kind} cannot be read`, line)
  }
  return { groups, sitemaps, licenses, problems, truncated }
}

/** RSL 1.0 asks for an absolute URL; only one of the web can be followed. */
const isAbsoluteUrl = (value: string): boolean => /^https?:\/\/[^\s]+$/i.test(value) && URL.canParse(value)

/** Adds a record that is not part of RFC 9309. Returns false if its value cannot be read. */
function addExtension(
  group: OpenGroup,
  kind: 'crawl-delay' | 'content-signal' | 'content-usage',
  value: string,
  line: number,
): boolean {
  if (kind === 'crawl-delay') {
    if (!/^\d{1,9}(?:\.\d{1,9})?$/.test(value)) return false
    group.crawl_delay ??= Number(value)
    return true
  }
  const path = /^(\/[^ \t]*)[ \t]+/.exec(value)
  if (kind === 'content-signal') {
    const preferences = path ? undefined : parsePreferences(value)
    if (preferences === undefined) return false
    group.content_signals = mergePreferences(group.content_signals, preferences)
    return true
  }
  const preferences = parsePreferences(path ? value.slice(path[0].length) : value)
  if (preferences === undefined) return false
  group.content_usage ??= []
  group.content_usage.push({ pattern: octetsToText(path?.[1] ?? '/'), preferences, line })
  return true
}
