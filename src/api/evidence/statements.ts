import { formatAge } from '../../analytics/export/format.js'
import type { EvidenceDocument, Facts } from './document.js'

const timeOf = (instant: string | null): string => (instant ?? '').replace('T', ' ').replace(/\.\d+Z$|Z$/, ' UTC')
const fetchesOf = (n: number): string => (n === 1 ? '1 fetch' : `${n} fetches`)

/**
 * Completes a document with its sentences. They say what the rows hold and nothing beyond: a request "carried a user agent",
 * an address "was in a list"; what an operator intended or knew is in no row.
 */
export const withStatements = (facts: Facts): EvidenceDocument => ({
  ...facts,
  statements: [
    ...describeRequests(facts),
    ...facts.identity.map((sum) => describeIdentity(sum, facts)),
    ...tail(facts),
  ],
  limits: describeLimits(facts),
})

function describeRequests({ agent, site, window, counts, rules, own_rules }: Facts): string[] {
  const operator = agent.operator === null ? '' : `, of which the catalogue says that ${agent.operator} operates it`
  return [
    `This folder is about requests to the site ${site.name} from ${timeOf(window.start)} to ${timeOf(window.end)} that were recorded under the name ${agent.name} (${agent.agent_id})${operator}.`,
    ...(agent.respects_robots === null ? [] : [STATED[agent.respects_robots]]),
    ...(counts.fetches === 0
      ? ['The record has no such fetch that robots.txt disallowed or that a rule refused.']
      : []),
    ...(counts.disallowed === 0
      ? []
      : [
          `${fetchesOf(counts.disallowed)} asked for a path that the robots.txt that was active at the time disallowed for this name.`,
          `${counts.in_grace} of these came while a version of the 24 hours before still allowed the path; an agent may have held a copy of that version.`,
          `Before ${counts.after_reading} of these, a fetch under the same name had read the robots.txt of the same hostname while the version that decided was active.`,
        ]),
    ...rules.slice(0, 20).map(({ hostname, pattern, line, line_text, sha256, fetches, first, last }) => {
      const by = pattern === null ? 'no pattern' : `the pattern ${quote(pattern)} in line ${line}`
      const text = line_text === null ? '' : `, which reads ${quote(line_text)}`
      const file =
        sha256 === null ? 'of a version that is not stored any more' : `of the file with the SHA-256 ${sha256}`
      return `On ${hostname}, ${by}${text}, ${file}, decided about ${fetchesOf(fetches)} from ${timeOf(first)} to ${timeOf(last)}.`
    }),
    ...own_rules.map(
      ({ id, name, action, fetches, first, last }) =>
        `The rule ${id}${name === null ? '' : ` (${quote(name)})`} of the site answered ${fetchesOf(fetches)} with the action ${quote(action)} from ${timeOf(first)} to ${timeOf(last)}.`,
    ),
  ]
}

const STATED = {
  yes: 'The catalogue notes that its operator states that it obeys robots.txt.',
  no: 'The catalogue notes that its operator states that it does not obey robots.txt.',
  unknown: 'The catalogue has no statement of its operator about robots.txt.',
}

const quote = (text: string): string => `“${text}”`

function describeIdentity(
  { verification, proof, proof_from, proof_to, oldest_s, fetches }: Facts['identity'][number],
  { agent }: Facts,
): string {
  const count = fetchesOf(fetches)
  const isUrl = proof !== null && /^https?:/.test(proof)
  const place = proof === null ? 'that is not recorded' : isUrl ? proof : `the file ${quote(proof)} of this instance`
  const copy =
    proof_from === null || proof_to === null || oldest_s === null
      ? 'When that copy was fetched is not recorded.'
      : `This instance had fetched or confirmed that copy between ${timeOf(proof_from)} and ${timeOf(proof_to)}; ${
          oldest_s < 0
            ? `each was fetched after the request, at least ${formatAge(-oldest_s)} later.`
            : `at the time of a request it was at most ${formatAge(oldest_s)} old.`
        }`
  switch (verification) {
    case 'ranges':
      return `The addresses of ${count} were in the list that ${isUrl && agent.operator ? `${agent.operator} publishes at ${place}` : `stands in ${place}`}. ${copy}`
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

const tail = ({ counts, served }: Facts): string[] => [
  ...(served.length === 0
    ? []
    : [
        `The responses had ${counts.bytes} bytes in all: ${served
          .slice(0, 8)
          .map(
            ({ status, content_type, fetches }) => `${fetches} with status ${status} and ${content_type ?? 'no type'}`,
          )
          .join(', ')}.`,
      ]),
  ...(counts.spoofed === 0
    ? []
    : [`${fetchesOf(counts.spoofed)} under the same name failed the verification; this folder leaves them out.`]),
]

function describeLimits({ counts, robots_txt, robots_reads_left_out, identity, not_recorded }: Facts): string[] {
  const isUndated = identity.some(
    ({ verification, proof_from }) => /^(ranges|web_bot_auth)$/.test(verification) && proof_from === null,
  )
  return [
    'The record has no addresses: an address serves to verify a request and is not kept. Signatures of requests and names of reverse DNS are not kept either.',
    'Paths are recorded without queries, up to 2,000 characters, and user agents up to 512.',
    'The record does not tell what the agent or its operator did with a response, or for which reason it asked.',
    ...(counts.left_out === 0
      ? []
      : [`${fetchesOf(counts.left_out)} are counted, and are in the digest, but are not listed one by one.`]),
    ...(robots_reads_left_out === 0 ? [] : [`${robots_reads_left_out} later fetches of robots.txt are not listed.`]),
    ...(robots_txt.some(({ text }) => text === null)
      ? [
          'For some versions of robots.txt this folder has the digest only, because their text is not kept any more or is too long.',
        ]
      : []),
    ...(isUndated
      ? ['Of some verified fetches the list and its age are absent: they were recorded before this was kept.']
      : []),
    ...(counts.imported === 0
      ? []
      : [`${fetchesOf(counts.imported)} come from access logs that the operator of the site imported.`]),
    ...(not_recorded.length === 0 ? [] : ['Not everything was recorded in the times of `not_recorded`.']),
  ]
}
