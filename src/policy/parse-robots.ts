import { mergePreferences, type Preferences, parsePreferences } from './preferences.js'
import { octetsToText, type RobotsMode, splitLines, trimAscii } from './robots-lines.js'
import { MISSPELT_KEYS, recordKind, splitRecord, userAgentNames } from './robots-records.js'

export interface RobotsRule {
  allow: boolean
  /** As written, decoded as UTF-8. */
  pattern: string
  line: number
  /** As written, one character an octet: what is compared. */
  octets: string
}

/** A `Content-Usage` record (AIPREF): preferences for a path, kept as written. */
export interface ContentUsage {
  /** `/` where the record names none. */
  pattern: string
  preferences: Preferences
  line: number
}

export interface RobotsGroup {
  /** Values of its User-agent lines as written. */
  user_agents: readonly string[]
  rules: readonly RobotsRule[]
  /** Of its first User-agent line, from 1. */
  line: number
  /** Seconds. Not in the RFC: shown, never judged. */
  crawl_delay?: number
  content_signals?: Preferences
  content_usage?: readonly ContentUsage[]
}

/** Something in the file that its author may want to mend. */
interface RobotsProblem {
  line?: number
  problem: string
}

export interface RobotsTxt {
  groups: readonly RobotsGroup[]
  sitemaps: readonly string[]
  problems: readonly RobotsProblem[]
  /** The file is longer than the 500 KiB that are read. */
  truncated: boolean
}

const MAX_PROBLEMS = 100

interface OpenGroup extends RobotsGroup {
  user_agents: string[]
  rules: RobotsRule[]
  content_usage?: ContentUsage[]
}

/**
 * A robots.txt read whole, into the groups it writes (not merged): RFC 9309 2.2, and the records beside it. Only a rule
 * ends a run of User-agent lines; Sitemap, Crawl-delay, Content-Signal and unknown records never do. Any input is read
 * in linear time; what is wrong with it is in `problems` (the first 100).
 */
export function parseRobots(body: Uint8Array | string, mode: RobotsMode = 'rfc'): RobotsTxt {
  const { lines, truncated } = splitLines(body, mode)
  const groups: OpenGroup[] = []
  const sitemaps: string[] = []
  const problems: RobotsProblem[] = []
  const tell = (problem: string, line?: number) => {
    if (problems.length === MAX_PROBLEMS) problems.push({ problem: 'more problems, not listed' })
    if (problems.length < MAX_PROBLEMS) problems.push({ ...(line !== undefined && { line }), problem })
  }
  const start = firstText(lines)
  if (/^<(?:!doctype|html|head|body|\?xml)\b/i.test(start)) {
    tell('HTML stands here instead of text: no rules are read')
    return { groups, sitemaps, problems, truncated }
  }
  if (/^(?:\xff\xfe|\xfe\xff)/.test(start)) tell('the file is UTF-16, agents read UTF-8')
  if (truncated) tell('longer than 500 KiB: what stands beyond is not read')
  if (lines.some((line) => line.includes('\0'))) tell('holds NUL octets')

  let group: OpenGroup | undefined
  let naming = false
  let between = false
  for (const [index, text] of lines.entries()) {
    const line = index + 1
    const record = splitRecord(text, mode)
    if (record === undefined) continue
    if (record === 'no colon') {
      tell('neither a record nor a comment', line)
      continue
    }
    const { key, value } = record
    const kind = recordKind(key, mode)
    if (kind === 'user-agent') {
      if (group === undefined || !naming) {
        group = { user_agents: [], rules: [], line }
        groups.push(group)
      } else if (between) tell(`joins the group of line ${group.line}: only Allow or Disallow ends user agents`, line)
      naming = true
      between = false
      group.user_agents.push(octetsToText(value))
      if (userAgentNames(octetsToText(value), mode).length === 0) tell('names no user agent', line)
      continue
    }
    between = naming
    if (kind === 'sitemap') {
      if (value === '') tell('Sitemap without a URL', line)
      else sitemaps.push(octetsToText(value))
    } else if (kind === 'unknown') {
      const meant = MISSPELT_KEYS.get(key)
      if (meant !== undefined) tell(`is not ${meant}, though Google reads it so`, line)
    } else if (group === undefined) tell('stands before the first User-agent: it counts for nobody', line)
    else if (kind === 'allow' || kind === 'disallow') {
      naming = false
      if (value !== '' && !/^[/*]/.test(value)) tell('a path that begins with neither / nor * matches nothing', line)
      group.rules.push({ allow: kind === 'allow', pattern: octetsToText(value), line, octets: value })
    } else if (!addExtension(group, kind, value, line)) tell(`a ${kind} that cannot be read`, line)
  }
  return { groups, sitemaps, problems, truncated }
}

/** What the file begins with, for telling what it is. */
function firstText(lines: readonly string[]): string {
  for (const line of lines) {
    const text = trimAscii(line)
    if (text !== '') return text.slice(0, 100)
  }
  return ''
}

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
