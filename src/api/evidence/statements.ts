import { formatDuration } from '../../analytics/export/format.js'
import type { EvidenceDocument, Facts } from './document.js'

/** Formats an instant of a document to the second. */
export const timeText = (instant: string): string => instant.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')
const between = (first: string, last: string): string => `from ${timeText(first)} to ${timeText(last)}`
const fetchesOf = (n: number): string => (n === 1 ? '1 fetch' : `${n} fetches`)
const quote = (text: string): string => `“${text}”`
const list = (...sentences: readonly (string | false)[]): string[] => sentences.filter((text) => text !== false)

/**
 * Completes a document with its sentences. They say what the rows hold and nothing beyond: a request "carried a user agent",
 * an address "was in a list"; what an operator intended or knew is in no row.
 */
export const withStatements = (facts: Facts): EvidenceDocument => ({
  ...facts,
  statements: [...describeFetches(facts), ...facts.identity.map((sum) => describeIdentity(sum, facts))],
  limits: describeLimits(facts),
})

const MAX_RULES = 20
const MAX_KINDS = 8
const STATED = {
  yes: 'The catalogue notes that its operator states that it obeys robots.txt.',
  no: 'The catalogue notes that its operator states that it does not obey robots.txt.',
  unknown: 'The catalogue has no statement of its operator about robots.txt.',
}

function describeFetches({ agent, site, window, counts, rules, own_rules, served }: Facts): string[] {
  const operator = agent.operator === null ? '' : `, of which the catalogue says that ${agent.operator} operates it`
  const { fetches, disallowed, in_grace, after_reading, bytes, spoofed } = counts
  const kinds = served
    .slice(0, MAX_KINDS)
    .map(({ status, content_type, fetches }) => `${fetches} with status ${status} and ${content_type ?? 'no type'}`)
  return list(
    `This folder is about requests to the site ${site.name} ${between(window.start, window.end)} that were recorded under the name ${agent.name} (${agent.agent_id})${operator}.`,
    STATED[agent.respects_robots],
    fetches === 0 && 'The record has no such fetch that robots.txt disallowed or that a rule refused.',
    disallowed > 0 &&
      `${fetchesOf(disallowed)} asked for a path that the robots.txt that was active at the time disallowed for this name.`,
    disallowed > 0 &&
      `${in_grace} of these came while a version of the 24 hours before still allowed the path; an agent may have held a copy of that version.`,
    disallowed > 0 &&
      `Before ${after_reading} of these, a fetch under the same name had read the robots.txt of the same hostname while the version that decided was active.`,
    ...rules.slice(0, MAX_RULES).map(({ hostname, pattern, line, line_text, sha256, fetches, first, last }) => {
      const by = pattern === null ? 'no pattern' : `the pattern ${quote(pattern)} in line ${line}`
      const text = line_text === null ? '' : `, which reads ${quote(line_text)}`
      const file = sha256 === null ? 'a version that is not stored any more' : `the file with the SHA-256 ${sha256}`
      return `On ${hostname}, ${by}${text}, of ${file}, decided ${fetchesOf(fetches)} ${between(first, last)}.`
    }),
    ...own_rules.map(({ id, name, action, fetches, first, last }) => {
      const rule = name === null ? `${id}` : `${id} (${quote(name)})`
      return `The rule ${rule} of the site answered ${fetchesOf(fetches)} with the action ${quote(action)} ${between(first, last)}.`
    }),
    kinds.length > 0 && `The responses had ${bytes} bytes in all: ${kinds.join(', ')}.`,
    spoofed > 0 && `${fetchesOf(spoofed)} under the same name failed the verification; this folder leaves them out.`,
  )
}

/** Rounds seconds up to the smallest unit that is written: "at most" has to hold. */
const roundUp = (seconds: number): number => {
  const unit = seconds >= 86_400 ? 3_600 : seconds >= 3_600 ? 60 : 1
  return Math.ceil(seconds / unit) * unit
}

function describeIdentity(
  { verification, proof, oldest_s, fetches }: Facts['identity'][number],
  { agent }: Facts,
): string {
  const count = fetchesOf(fetches)
  const isUrl = proof !== null && /^https?:/.test(proof)
  const place = proof === null ? 'that is not recorded' : isUrl ? proof : `the file ${quote(proof)} of this instance`
  const source = isUrl && agent.operator ? `${agent.operator} publishes at ${place}` : `stands in ${place}`
  const copy =
    oldest_s === null
      ? 'When that copy was fetched is not recorded.'
      : oldest_s < 0
        ? `This instance fetched each copy after the request, at least ${formatDuration(-oldest_s)} later.`
        : `This instance had fetched or confirmed its copy at most ${formatDuration(roundUp(oldest_s))} before a request.`
  switch (verification) {
    case 'ranges':
      return `The addresses of ${count} were in the list that ${source}. ${copy}`
    case 'web_bot_auth':
      return `${count} carried a signature (Web Bot Auth, RFC 9421) by a key of the directory ${place}. ${copy}`
    case 'rdns':
      return `The addresses of ${count} had a reverse DNS name of the operator, and that name led back to the address. It was looked up at the time of the request.`
    case 'unverifiable':
      return `${count} name the agent in their user agent alone: no published way to verify them could be used.`
    default:
      return `The identity of ${count} could not be decided when they were recorded (${verification}).`
  }
}

function describeLimits({ counts, robots_txt, robots_reads_left_out, identity, not_recorded }: Facts): string[] {
  const isUndated = identity.some(
    ({ verification, oldest_s }) => /^(ranges|web_bot_auth)$/.test(verification) && oldest_s === null,
  )
  return list(
    'The record has no addresses: an address serves to verify a request and is not kept. Signatures of requests and names of reverse DNS are not kept either.',
    'A fetch is judged by the version of robots.txt that was read last before it, at most 24 hours before; where none was, by the first version that was read in the hour after it.',
    'Paths are recorded without queries, up to 2,000 characters, and user agents up to 512.',
    'The record does not tell what the agent or its operator did with a response, or for which reason it asked.',
    counts.left_out > 0 &&
      `${fetchesOf(counts.left_out)} are counted, and are in the digest, but are not listed one by one.`,
    robots_reads_left_out > 0 && `${robots_reads_left_out} later fetches of robots.txt are not listed.`,
    robots_txt.some(({ text }) => text === null) &&
      'For some versions of robots.txt this folder has the digest only, because their text is not kept any more or is too long.',
    isUndated && 'Of some verified fetches the list and its age are absent: they were recorded before this was kept.',
    counts.imported > 0 &&
      `${fetchesOf(counts.imported)} come from access logs that the operator of the site imported.`,
    not_recorded.length > 0 && 'Not everything was recorded in the times of `not_recorded`.',
  )
}
