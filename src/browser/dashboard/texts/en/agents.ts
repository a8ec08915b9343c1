import { counted, formatNumber, plural } from '../../state/format.js'
import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

export const agents = {
  leftOut: 'Agents are switched off.',
  showBoth: 'Show both',
  areVerified: (n: number, share: string) => `${counted(n, 'is verified', 'are verified')} (${share})`,
  areSpoofed: (n: number) => counted(n, 'used a name that is not its own', 'used a name that is not theirs'),
  unchecked: (n: number) => `${formatNumber(n)} cannot be checked`,
  /** `checked` is how many were verified or spoofed. */
  sentence: (
    fetches: Quantity<'fetches'>,
    checked: string,
    verified: unknown,
    spoofed: unknown,
    unchecked: string,
  ): Parts => [`Of ${fetches.text}, ${unchecked}; of ${checked} checked, `, verified, ' and ', spoofed, '.'],
  sentenceUnchecked: (fetches: Quantity<'fetches'>, unchecked: string): Parts => [`Of ${fetches.text}, ${unchecked}.`],
  sentenceNone: (when: string): Parts => [when, ' no agent read this site.'],
  sentencePeople: (when: string, visits: Quantity<'aiVisits'>): Parts => [
    when,
    plural(visits.n, { one: ' there was ', other: ' there were ' }),
    visits.shown,
    '.',
  ],
  purposes: (shares: readonly { name: string; share: unknown }[]): Parts => [
    ' ',
    ...shares.flatMap(({ name, share }, i) => [i === 0 ? `${name} takes ` : `, ${name.toLowerCase()} `, share]),
    '.',
  ],
  seen: (n: number) => `${formatNumber(n)} seen`,
  other: 'Other',
  all: 'All',
  agent: 'Agent',
  purpose: 'Purpose',
  operator: 'Operator',
  ownScale: (window: string) => `${window}, each on its own scale`,
  barsOf: (name: string) => `Fetches of ${name} over time`,
  verified: 'verified',
  identityHead: 'Identity, of checked',
  cannotVerify: 'cannot be verified',
  notChecked: 'not checked yet',
  spoofed: (n: number) => `${formatNumber(n)} spoofed`,
  nothingForbidden: 'nothing forbidden',
  lastRead: 'Last read',
  none: 'No agent read this site in this time. Choose a longer time, or read the site as one: curl -A "GPTBot/1.3" and its address.',
  byOperator: 'By operator',
  byPurpose: 'By purpose',
  severityCount: (severity: string, n: number): string =>
    severity === 'breach'
      ? counted(n, 'breach', 'breaches')
      : severity === 'grace'
        ? `${formatNumber(n)} in grace`
        : `${formatNumber(n)} ${severity}`,
  verifiedBy: (share: string, ways: readonly string[]) =>
    ways.length === 0 ? `${share} of checked verified` : `${share} of checked verified by ${ways.join(' or ')}`,
  ways: {
    ranges: 'published ranges',
    rdns: 'reverse DNS',
    web_bot_auth: 'signature',
  } as Record<string, string>,
  docs: 'Operator documentation',
  history: 'Had it read the rules?',
  notSeen: (name: string) => `${name} did not read this site in this time. Choose a longer time.`,
  forbidden: (n: number) => (n === 0 ? 'no disallowed fetch' : counted(n, 'disallowed fetch', 'disallowed fetches')),
  leadNone: (when: string, name: string): Parts => [when, ` ${name} did not read this site.`],
  leadPlain: (when: string, name: string, fetches: Quantity<'fetches'>, forbidden: unknown): Parts => [
    when,
    ` ${name} made ${fetches.text}`,
    ...(forbidden === undefined ? [] : [', among them ', forbidden]),
    '.',
  ],
  leadChanged: (delay: unknown, day: unknown, forbidden: unknown): Parts => [
    'It read the new robots.txt ',
    delay,
    ' after the change of ',
    day,
    ...(forbidden === undefined ? [] : [', and made ', forbidden, ' since']),
    '.',
  ],
  leadUnread: (name: string, day: string, fetches: Quantity<'fetches'>, forbidden: unknown): Parts => [
    `${name} made ${fetches.text} and has not read the robots.txt of ${day}`,
    ...(forbidden === undefined ? [] : ['. Among them: ', forbidden]),
    '.',
  ],
  leadRead: (name: string, last: string, fetches: Quantity<'fetches'>, forbidden: unknown): Parts => [
    `${name} made ${fetches.text} and last read robots.txt ${last}`,
    ...(forbidden === undefined ? [] : ['. Among them: ', forbidden]),
    '.',
  ],
  unverified: (n: string) => ` Of the disallowed fetches, ${n} came from clients that could not be verified.`,
  lanes: (name: string) => `When ${name} read robots.txt, pages, and disallowed pages`,
  inForce: 'Active robots.txt',
  readRobots: 'Read robots.txt',
  pageReads: {
    minute: 'Reads a minute',
    hour: 'Reads an hour',
    day: 'Reads a day',
    week: 'Reads a week',
    month: 'Reads a month',
  },
  disallowedFetches: 'Disallowed fetches',
  version: (day: string, rules: number) => `${day}, ${counted(rules, 'rule', 'rules')}`,
  standing: {
    served: 'served',
    unavailable: 'no file: everything was allowed',
    unreachable: 'could not be fetched',
  },
  readLater: (delay: string) => `new version read, ${delay} later`,
  whatItRead: 'What it fetched',
  allPages: (pages: Quantity<'pages'>) => (pages.n === 1 ? 'The page' : `All ${pages.text}`),
  whatItIgnored: 'What it ignored',
  atTheTime: 'by the robots.txt that was active at each fetch',
  ignoredNone: 'It fetched nothing that robots.txt forbade at that time.',
  path: 'Path',
  decidingLine: 'Deciding line',
  class: 'Class',
  last: 'Last',
  noRule: 'no rule matches',
  everything: 'everything is disallowed',
  itsOperator: 'its operator',
  severityOf: (severity: string, operator: string): string =>
    ({
      breach: `Verified, and ${operator} documents that this agent obeys robots.txt.`,
      unbound: `${operator} documents that this agent does not follow robots.txt.`,
      unclear: `${operator} does not say whether this agent follows robots.txt.`,
      unverified: `These fetches could not be verified, so ${operator} is not accused.`,
      grace: 'Within a day after the rule was published; an agent may hold a copy that long.',
    })[severity] ?? '',
  spoofedLeftOut: (n: number) =>
    plural(n, {
      one: 'One spoofed fetch is not the agent’s; it counts as unverified.',
      other: `${formatNumber(n)} spoofed fetches are not the agent’s; they count as unverified.`,
    }),
  aiVisits: (operator: string) => `AI visits from ${operator}`,
  aiVisitsNone: (operator: string) =>
    `No visit came from an assistant of ${operator} in this time. Native apps send no referrer.`,
  readsPerVisit: (operator: string, reads: Quantity<'reads'>, ratio: string) =>
    `Search and assistant agents of ${operator} made ${reads.text}: ${ratio} for each AI visit. Training agents are left out.`,
}
