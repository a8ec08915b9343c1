import { counted, formatNumber } from '../../state/format.js'
import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

export const policy = {
  sentence: (
    since: string,
    rules: number,
    groups: number,
    kept: number,
    agents: Quantity<'agents'>,
    path: unknown,
  ): Parts => [
    `The robots.txt of ${since} has ${counted(rules, 'rule', 'rules')} in ${counted(groups, 'group', 'groups')}. `,
    `${formatNumber(kept)} of ${agents.text} that robots.txt can name may not read `,
    path,
    '.',
  ],
  sentenceNone: [
    'readership has not fetched a robots.txt yet. It does so within a second after the first request.',
  ] as Parts,
  sentenceStanding: (standing: string): Parts => [
    standing === 'unavailable'
      ? 'There is no robots.txt, so every agent may read everything.'
      : 'The robots.txt could not be fetched, so crawlers have to assume that nothing is allowed. No read is judged in the meantime.',
  ],
  hostname: 'Hostname',
  mayTitle: 'May this agent read this path?',
  mayFoot:
    'By the robots.txt that is active now. Fetches are those of the path in the chosen time, judged by the robots.txt of their moment.',
  agent: 'Agent: name or token',
  ask: 'Ask',
  may: 'May read',
  whileDisallowed: 'While disallowed',
  answer: (agent: string, path: string, allowed: boolean) =>
    allowed ? `${agent} may read ${path}.` : `${agent} may not read ${path}.`,
  unknownAgent: (name: string) => `No agent of the catalogue is called “${name}”. It would obey the group of *.`,
  group: (agents: string) => `The group of ${agents} applies to it.`,
  reason: {
    rule: 'a rule decides',
    no_rule: 'no rule matches',
    no_group: 'no group applies',
    unavailable: 'no robots.txt: everything is allowed',
    unreachable: 'robots.txt could not be fetched',
    robots_txt: 'robots.txt itself is always allowed',
  } as Record<string, string>,
  decides: 'decides',
  fetched: (at: string) => `fetched ${at}`,
  noneYet: 'Nothing is fetched yet. It happens within a second after the first request of the hostname.',
  standing: (standing: string, status: number, reason: string | undefined) =>
    standing === 'unavailable'
      ? `The server answers ${status}: there is no robots.txt, and everything is allowed.`
      : `It could not be fetched${reason === undefined ? '' : `: ${reason}`}. Crawlers have to assume that nothing is allowed.`,
  noGroups: 'It has no group, so everything is allowed.',
  truncated: 'Only the first 500 KiB are read, as RFC 9309 asks for.',
  problems: 'Problems',
  licenses: 'Licences for the whole file',
  sitemaps: 'Sitemaps',
  links: (n: number) => counted(n, 'link', 'links'),
  noLlms: 'The site has no llms.txt yet, or it is not fetched yet.',
  llmsStanding: (standing: string, status: number) =>
    standing === 'unavailable' ? `The server answers ${status}: there is no llms.txt.` : 'It could not be fetched.',
  linkTitle: 'Link',
  section: 'Section',
  notes: 'Notes',
  lastStatus: 'Last status',
  offsite: 'other site',
  firstLinks: (n: number) => `The first ${counted(n, 'link', 'links')}.`,
  versions: 'Versions',
  versionsAside: 'what changed, and who has read it',
  size: (rules: number, groups: number) =>
    `${counted(rules, 'rule', 'rules')} in ${counted(groups, 'group', 'groups')}`,
  inForce: 'active',
  readBy: (agents: Quantity<'agents'>) => `read by ${agents.text}`,
  changes: 'Changes against the version before',
  atLine: (line: number) => `@@ line ${line} @@`,
  tooLong: 'The texts are too long to be compared here.',
  sameText: 'The text is the same; the status or the address changed.',
  textLeftOut: 'The text is left out, because the list is long.',
  unreadVersion: 'No agent has read this version.',
  later: (time: string) => `${time} later`,
}

export const violations = {
  title: 'Violations',
  sentence: (when: string, fetches: Quantity<'fetches'>, share: string, agents: Quantity<'agents'>): Parts => [
    `${when} ${agents.text} made `,
    fetches.shown,
    ` that robots.txt forbade at that moment: ${share} of all.`,
  ],
  breaches: (breaches: unknown): Parts => [
    ' Among them ',
    breaches,
    ' by verified agents whose operator says that they obey.',
  ],
  noBreach: ' None of it is a breach: no verified agent broke a promise of its operator.',
  sentenceNone: (when: string): Parts => [`${when} no agent fetched what robots.txt forbids.`],
  people: 'People are not bound by robots.txt.',
  by: 'Grouped',
  byAgent: 'By agent and rule',
  quotes: 'A name in quotes is not proven to be that agent, so its operator is not accused.',
  rows: 'Each row is one agent and the one line that decided: two rules that an agent ignored are two rows.',
  classes: 'Classes',
  share: (share: string) => `${share} of the fetches`,
  none: 'No agent fetched what robots.txt forbade at that moment.',
  pages: 'Pages',
}
