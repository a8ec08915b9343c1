import { counted, formatNumber } from '../../state/format.js'
import type { Quantity } from '../quantity.js'
import type { Parts } from '../rich-text.js'

export const pages = {
  list: {
    both: (when: string, people: Quantity<'pages'>, agents: Quantity<'pages'>): Parts => [
      when,
      ' people viewed ',
      people.shown,
      ', and agents read ',
      agents.shown,
      '.',
    ],
    human: (when: string, pages: Quantity<'pages'>): Parts => [when, ' people viewed ', pages.shown, '.'],
    agent: (when: string, pages: Quantity<'pages'>): Parts => [when, ' agents read ', pages.shown, '.'],
    none: (when: string): Parts => [when, ' no page was read.'],
    most: { human: ' People viewed most: ', agent: ' Agents read most: ' },
    disallowed: (pages: Quantity<'pages'>): Parts => [' Agents fetched ', pages.shown, ' that robots.txt disallowed.'],
  },
  sortedBy: { human: 'Sorted by people', agent: 'Sorted by reads' },
  sections: {
    title: 'Sections',
    none: 'Not in a section',
    open: (section: string) => `The pages of ${section}`,
    others: (pages: string) => `and ${pages} more`,
    empty:
      'No sections yet. A folder becomes one when three of its pages were read; write others in the settings of the site.',
  },
  pageReads: 'Reads',
  lastRead: 'Last read',
  robots: 'robots.txt',
  never: 'not read',
  empty: 'No page was read in this time. Choose a longer time, or open the site through readership.',
  emptyFiltered: 'No page matches these filters in this time. Remove a filter or choose a longer time.',
  noScript: 'Time on page and scroll need the script. Add it under Install.',
  openPage: 'Open page',
  whileDisallowed: (fetches: Quantity<'fetches'>) => `${fetches.text} while disallowed`,
  notInLlms: 'Not in llms.txt',
  one: {
    readBy: (when: string, agents: Quantity<'agents'>, fetches: Quantity<'fetches'>): Parts => [
      when,
      ' ',
      agents.shown,
      ` made ${fetches.text} of this page`,
    ],
    noAgent: (when: string): Parts => [when, ' no agent read this page'],
    notAllowed: (some: unknown, _n: number, fetches: Quantity<'fetches'>): Parts => [
      '; ',
      some,
      ` fetched it while robots.txt forbade it: ${fetches.text}.`,
    ],
    allAllowed: '; robots.txt allowed each of them.',
    end: '.',
    ofThem: (n: number) => `${formatNumber(n)} of them`,
    cameBack: (reads: Quantity<'reads'>, visits: Quantity<'aiVisits'>): Parts => [
      ` Assistants and AI search made ${reads.text} of it, and `,
      visits.shown,
      ' began here.',
    ],
    noneCameBack: (reads: Quantity<'reads'>): Parts => [
      ` Assistants and AI search made ${reads.text} of it; no AI visit began here.`,
    ],
    notReadByAssistants: (visits: Quantity<'aiVisits'>): Parts => [
      ' Assistants and AI search did not read it; ',
      visits.shown,
      ' began here.',
    ],
    peopleRead: (when: string, people: Quantity<'people'>, pageviews: Quantity<'pageviews'>): Parts => [
      when,
      ' ',
      people.shown,
      ` viewed this page, in ${pageviews.text}`,
    ],
    began: (visits: Quantity<'visits'>) => `; ${visits.text} began here.`,
    nobody: (when: string): Parts => [when, ' no person viewed this page.'],
  },
  needsScript: 'needs the script',
  notYet: 'not in this time',
  chart: 'Readers of this page over time',
  gap: {
    reads: 'reads by assistants and AI search',
    arrivals: 'AI visits that began here',
    ratio: (n: string) => `Reads for each AI visit: ${n}.`,
    noArrival: 'No AI visit began here.',
    noReads: 'No assistant and no AI search read this page.',
    median: (n: string) => `The site’s median is ${n}`,
    noMedian: 'Too few pages of the site have enough reads for a median.',
    means: {
      gap: ', so this page is read a lot and cited little.',
      earning: ', so this page is cited a lot for what is read.',
    },
    /** For as many reads. */
    balanced: {
      alike: () => ', so this page is cited about as often as others.',
      more: (factor: string) => `, so for its reads this page is cited ${factor} times as often as the median page.`,
      less: (factor: string) => `, so for its reads the median page is cited ${factor} times as often as this page.`,
    },
    blocked: 'robots.txt disallows it for every agent that could cite it.',
    insufficient: 'Too few reads to judge.',
    scale: (ratio: string, zone: string, median: string) =>
      `Reads for each AI visit: ${ratio}, ${zone}. The median is ${median}.`,
    medianMark: (n: string) => `median ${n}`,
    foot: 'Training agents are left out. AI visits are a lower bound: native apps send no referrer.',
  },
  may: {
    title: 'May agents read it?',
    since: (when: string) => `robots.txt of ${when}`,
    unknown: 'not known',
    noRule: 'no rule matches',
    severity: 'Class',
    none: 'No agent read this page in this time. The policy view tells which agents may.',
    standing: {
      served: '',
      unavailable: 'The site has no robots.txt, so every agent may read every page.',
      unreachable: 'robots.txt cannot be fetched, so agents must treat every page as disallowed.',
    } as Record<string, string>,
    unfetched: (known: number, disallowed: number) =>
      `${counted(known, 'other agent', 'other agents')} that robots.txt can name did not read it; not allowed to: ${formatNumber(disallowed)}.`,
    now: '“May read” is about today. “While disallowed” counts by the robots.txt of the time of each fetch.',
  },
  versions: {
    title: 'Versions of the policy',
    inForce: 'applies now',
    none: 'No robots.txt and no llms.txt was fetched yet. readership asks for them within an hour.',
    changes: (when: string) => `Changes of ${when}`,
    all: 'The whole text of this first version',
  },
  cameFrom: 'Where its readers came from',
  cameFromAside: 'people who viewed it, wherever their visit began',
  noSources: 'No person viewed this page in this time.',
  decayNone: 'No person viewed this page in this time or the one before.',
}
