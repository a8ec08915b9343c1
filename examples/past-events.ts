import { AGENTS, type AgentVisitor } from './visitors.js'
import { DISGUISED_SHARE } from './visits.js'

/** Events of the demo's made-up past, so that each view has something to show. Days count back from the end of the past. */

const DAY_MS = 86_400_000
const SPOOFER = '45.148.10'

const findAgent = (test: (agent: AgentVisitor) => boolean): AgentVisitor => {
  const agent = AGENTS.find(test)
  if (!agent) throw new Error('the demo has no such agent')
  return agent
}
const withId = (id: string): AgentVisitor => findAgent(({ agent_id }) => agent_id === id)

/** Many visits of one agent on one day. */
interface Wave {
  daysAgo: number
  visitor: AgentVisitor
  /** Visits, as a share of the visits by agents on an average day. */
  share: number
  /** First hour (UTC), and how many hours the wave takes. */
  from: number
  hours: number
}
export const WAVES: readonly Wave[] = [
  // A crawler that reads everything after a new issue.
  { daysAgo: 10, visitor: withId('perplexitybot'), share: 0.13, from: 0, hours: 24 },
  { daysAgo: 9, visitor: withId('perplexitybot'), share: 0.4, from: 0, hours: 24 },
  // A verified agent that has read robots.txt, and reads what it forbids.
  {
    daysAgo: 6,
    visitor: { ...withId('ahrefsbot'), pages: ['/proofs', '/', '/about'] },
    share: 0.12,
    from: 2,
    hours: 3,
  },
  // A network that claims to be a known agent.
  { daysAgo: 4, visitor: findAgent(({ network }) => network === SPOOFER), share: 0.6, from: 13, hours: 2 },
]

/** People who follow one link on one day. */
interface Crowd {
  daysAgo: number
  /** Visits, as a share of the visits by people on an average day. */
  share: number
  referrer: string
  path: string
}
const LINKED = { referrer: 'https://tidewire.example/', path: '/articles/fog-signals' }
/** A news site links an article, and its readers are gone two days later. */
export const CROWDS: readonly Crowd[] = [
  { daysAgo: 13, share: 2.4, ...LINKED },
  { daysAgo: 12, share: 1.1, ...LINKED },
]

/** Returns the visits by disguised scripts on a day, as a share of people's; on two days many copy the site. */
export const disguisedShareOn = (daysAgo: number): number => (daysAgo === 5 || daysAgo === 4 ? 6 : 1) * DISGUISED_SHARE

/** The article that people leave while agents go on reading it, and the days in which they do. */
const DECAYING = { path: '/articles/two-bulges', from: 40, to: 24 }

/** Returns the pages that people choose from on a day, most popular first. */
export function pagesOn(daysAgo: number, pages: readonly string[]): readonly string[] {
  const { path, from, to } = DECAYING
  const copies = Math.round(4 * Math.min(1, Math.max(0, (daysAgo - to) / (from - to))))
  return [...Array.from({ length: copies }, () => path), ...pages.filter((page) => page !== path), path]
}

/** The deployment after which pages load faster. */
const DEPLOYMENT = { daysAgo: 20, paceBefore: 1.8 }

/** Returns how many times as long as now pages took to load on a day. */
export const paceOn = (daysAgo: number): number => (daysAgo > DEPLOYMENT.daysAgo ? DEPLOYMENT.paceBefore : 1)

/** Pages that changed in the past, by hours before its end, oldest first. */
const CHANGES: readonly { path: string; hoursAgo: number }[] = [
  { path: '/articles/fog-signals', hoursAgo: 13 * 24 },
  { path: '/pricing', hoursAgo: 9 * 24 },
  { path: '/articles/slack-water', hoursAgo: 5 * 24 },
  { path: '/', hoursAgo: 3 * 24 },
  { path: '/pricing', hoursAgo: 40 },
  { path: '/subscribe', hoursAgo: 20 },
  { path: '/about', hoursAgo: 9 },
  { path: '/notices', hoursAgo: 1 },
  { path: '/notices', hoursAgo: 0.5 },
]
/** Returns when pages changed, in milliseconds since 1970. */
export const changesOf = (until: number): { path: string; at: number }[] =>
  CHANGES.map(({ path, hoursAgo }) => ({ path, at: until - hoursAgo * 3_600_000 }))

/** Returns the night (UTC) in which nothing was recorded, in milliseconds since 1970. */
export function gapOf(until: number): { start: number; end: number } {
  const midnight = (Math.floor(until / DAY_MS) - 66) * DAY_MS
  return { start: midnight + 2 * 3_600_000, end: midnight + 9 * 3_600_000 }
}

/** Notes about the past. */
export const notesOf = (until: number): { at: Date; text: string }[] => [
  { at: new Date(until - 9 * DAY_MS), text: 'Issue 2 is out' },
  { at: new Date(until - DEPLOYMENT.daysAgo * DAY_MS), text: 'Deployed: smaller pictures, pages load faster' },
  { at: new Date(until), text: 'The demo began. Everything before is made up.' },
]
