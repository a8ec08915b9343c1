import { createDice, type Dice } from './dice.js'
import { type PageOnScreen, pageHits, type Screen } from './script-hits.js'
import {
  AGENTS,
  type AgentVisitor,
  BROWSERS,
  CAMPAIGNS,
  DISGUISED_SCRIPTS,
  FORBIDDEN_BEFORE,
  PLACES,
  REFERRERS,
} from './visitors.js'

/** The path of the proxy that the tracker sends its hits to. */
export const TRACK = '/_readership/api/track'

/** One request of a visit. */
export interface Step {
  /** Milliseconds after the previous step. */
  wait: number
  method: string
  path: string
  headers: Record<string, string>
  body?: string
  /** Milliseconds after which the client leaves an endless response. */
  leaveAfter?: number
}

export interface Visit {
  /** The visitor's name; a later visit under the same name sends the validators of earlier responses. */
  visitor: string
  /** Whether a script makes it that sends a browser's user agent. */
  isDisguised?: boolean
  steps: Step[]
}

/** The site on a day of the past. */
interface Past {
  /** Pages that people choose from, most popular first. */
  pages: readonly string[]
  /** How many times as long as now a page takes to load. */
  pace: number
  /** The link that brings a person for the first time; any if absent. */
  arrival?: { referrer: string; path: string }
}

interface Visits {
  /** Returns the next visit, about three by people to two by agents; of people's, some are by disguised scripts. */
  next(): Visit
  /** Returns a visit of a person; `past` changes what people choose from, and how long pages take to load. */
  person(past?: Past): Visit
  /** Returns a visit of this agent, or of any; `before` says that it knows the robots.txt from before the last change. */
  agent(visitor?: AgentVisitor, before?: boolean): Visit
  /** Returns a visit of a script that sends a browser's user agent. */
  disguised(): Visit
}

/**
 * Returns an endless stream of visits. It depends on the arguments only, never on responses or time. With `tracked`,
 * browsers send what the tracker of the pages sends, but for some that block it.
 */
export function createVisits(
  random: () => number,
  { base, pages, tracked = false }: { base: string; pages: readonly string[]; tracked?: boolean },
): Visits {
  const dice = createDice(random)
  const regulars: Person[] = []
  const agent = (visitor = dice.weighted(AGENTS), before = false) => {
    const forbidden = (before ? FORBIDDEN_BEFORE : visitor.forbidden) ?? []
    const allowed = visitor.forbidden ? pages.filter((page) => !forbidden.includes(page)) : pages
    return createAgentVisit(dice, visitor, visitor.pages ?? allowed)
  }
  const person = (past: Past = { pages, pace: 1 }) => {
    const back = !past.arrival && regulars.length > 20 && random() < 0.35
    const person = back ? dice.pick(regulars) : createPerson(dice, tracked)
    if (!back && !past.arrival) regulars.push(person)
    if (regulars.length > 500) regulars.shift()
    return createPersonVisit(dice, person, base, past)
  }
  const disguised = () => createDisguisedVisit(dice, pages)
  const visitOfPeople = () => (random() < DISGUISED_SHARE ? disguised() : person())
  return { next: () => (random() < 0.4 ? agent() : visitOfPeople()), person, agent, disguised }
}

/** The share of visits by disguised scripts, of those that seem to be people's. */
export const DISGUISED_SHARE = 0.05

function createDisguisedVisit(dice: Dice, sitePages: readonly string[]): Visit {
  const { user_agent, network, headers: sent, pages = sitePages, referrer, pace } = dice.weighted(DISGUISED_SCRIPTS)
  const address = `${network}.${1 + dice.integer(254)}`
  const headers = { 'x-forwarded-for': address, 'user-agent': user_agent, ...sent }
  const steps = Array.from({ length: pace.pages }, (_, i): Step => {
    const arrival = i === 0 && referrer !== undefined ? { referer: referrer } : {}
    return { wait: i && pace.wait, method: 'GET', path: dice.pick(pages), headers: { ...headers, ...arrival } }
  })
  return { visitor: `${address} ${user_agent}`, isDisguised: true, steps }
}

interface Person {
  name: string
  headers: Record<string, string>
  /** Absent if the browser runs no tracker. */
  screen?: Screen
}

/** Width and height in CSS pixels. */
type Size = readonly [number, number]
const PHONES: readonly Size[] = [
  [390, 844],
  [412, 915],
  [360, 800],
]
const DESKTOPS: readonly Size[] = [
  [1920, 1080],
  [1440, 900],
  [1536, 864],
  [2560, 1440],
]

function createPerson(dice: Dice, tracked: boolean): Person {
  const { user_agent, hints } = dice.weighted(BROWSERS)
  const { network, language, timezone } = dice.weighted(PLACES)
  const mobile = user_agent.includes('Mobile')
  const [width, height] = dice.pick(mobile ? PHONES : DESKTOPS)
  const runs = tracked && dice.random() < 0.92
  const address = `${network}.${dice.integer(256)}.${1 + dice.integer(254)}`
  return {
    name: `${address} ${user_agent}`,
    ...(runs && { screen: { mobile, width, height, language: language.replace(/,.*/, ''), timezone } }),
    headers: {
      'x-forwarded-for': address,
      'user-agent': user_agent,
      'accept-language': language,
      'accept-encoding': 'gzip, deflate, br',
      ...(hints && {
        'sec-ch-ua': hints.brand,
        'sec-ch-ua-mobile': hints.mobile ? '?1' : '?0',
        'sec-ch-ua-platform': `"${hints.platform}"`,
      }),
    },
  }
}

const DOCUMENT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const ASSETS = [
  ['/style.css', 'style', 'text/css,*/*;q=0.1'],
  ['/site.js', 'script', '*/*'],
  ['/img/mark.svg', 'image', 'image/avif,image/webp,image/svg+xml,*/*;q=0.8'],
  ['/img/hero.svg', 'image', 'image/avif,image/webp,image/svg+xml,*/*;q=0.8'],
] as const

type AddStep = (
  path: string,
  wait: number,
  headers: Record<string, string>,
  more?: Pick<Step, 'body' | 'leaveAfter'>,
) => void

/** Headers of a request that a page makes. */
const fetches = (dest: string, mode: string, site: string) => ({
  'sec-fetch-dest': dest,
  'sec-fetch-mode': mode,
  'sec-fetch-site': site,
})

const navigation = (referrer: string, site: string) => ({
  accept: DOCUMENT,
  ...(referrer && { referer: referrer }),
  ...fetches('document', 'navigate', site),
  'sec-fetch-user': '?1',
  'upgrade-insecure-requests': '1',
})

/** Adds what the tracker sends while a page is read. Returns the milliseconds until the next navigation. */
function addReading(add: AddStep, dice: Dice, { screen }: Person, page: PageOnScreen): number {
  const stay = dice.pause(20_000)
  if (!screen) return stay
  const { origin } = new URL(page.url)
  const own = { accept: '*/*', 'content-type': 'text/plain;charset=UTF-8', origin, referer: origin + page.path }
  for (const { after, payload } of pageHits(dice, screen, page, stay))
    add(TRACK, after, { ...own, ...fetches('empty', 'no-cors', 'same-origin') }, { body: JSON.stringify(payload) })
  return 50
}

/** Draws the next page of a person's visit. */
function choosePath(
  dice: Dice,
  pages: readonly string[],
  { first, keen, afterPrices }: { first: boolean; keen: boolean; afterPrices: boolean },
): string {
  if (first && dice.random() < 0.3) return keen ? '/pricing' : '/'
  if (afterPrices && dice.random() < (keen ? 0.8 : 0.4)) return '/subscribe'
  return dice.random() < 0.015 ? '/articles/the-lost-essay' : dice.popular(pages)
}

function createPersonVisit(dice: Dice, person: Person, base: string, { pages, pace, arrival }: Past): Visit {
  const { random } = dice
  const steps: Step[] = []
  const came = arrival?.referrer ?? dice.weighted(REFERRERS).url
  const campaign = !arrival && random() < 0.08 ? `?${dice.popular(CAMPAIGNS)}` : ''
  // People whom this assistant sends have asked for what the site sells.
  const keen = came === 'https://chatgpt.com/'
  const count = !keen && random() < 0.45 ? 1 : 2 + Math.floor(Math.log(1 - random()) / Math.log(0.68))
  const add: AddStep = (path, wait, headers, more = {}) => {
    const method = more.body === undefined ? 'GET' : 'POST'
    steps.push({ wait, method, path, headers: { ...person.headers, ...headers }, ...more })
  }
  /** Milliseconds until the next navigation. */
  let wait = 0
  let previous = campaign ? '' : came
  for (let i = 0; i < Math.min(count, 12); i++) {
    const path =
      i === 0 && arrival
        ? arrival.path
        : choosePath(dice, pages, { first: i === 0, keen, afterPrices: previous === `${base}/pricing` })
    const query = i === 0 ? campaign : ''
    const page = navigation(previous, i > 0 ? 'same-origin' : previous ? 'cross-site' : 'none')
    const requestHeaders = { referer: base + path }
    add(path + query, wait, page)
    if (i === 0)
      for (const [asset, dest, accept] of ASSETS.slice(0, path === '/' ? 4 : 3))
        add(asset, 30, { accept, ...requestHeaders, ...fetches(dest, 'no-cors', 'same-origin') })
    if (random() < 0.04) {
      const ahead = {
        accept: '*/*',
        'sec-purpose': 'prefetch',
        ...requestHeaders,
        ...fetches('empty', 'cors', 'same-origin'),
      }
      add(dice.popular(pages), 400, ahead)
    }
    if (path === '/gauge') {
      const sent = { accept: 'text/event-stream', 'cache-control': 'no-cache', ...requestHeaders }
      const headers = { ...sent, ...fetches('empty', 'cors', 'same-origin') }
      add('/api/gauge/stream', 100, headers, { leaveAfter: dice.pause(6000) })
    }
    wait = addReading(add, dice, person, { url: base + path + query, path, referrer: previous, first: i === 0, pace })
    previous = base + path
    if (path === '/subscribe' && random() < 0.5) {
      const form = navigation(previous, 'same-origin')
      const sent = { ...form, 'content-type': 'application/x-www-form-urlencoded', origin: base }
      add(path, wait, sent, { body: 'name=A.+Reader&email=reader%40mail.example' })
      add('/thank-you', 20, form)
      const thanks = { url: `${base}/thank-you`, path: '/thank-you', referrer: previous, first: false, pace }
      wait = addReading(add, dice, person, thanks)
      previous = thanks.url
    }
  }
  return { visitor: person.name, steps }
}

const MISSING = ['/wp-login.php', '/.env', '/.git/config', '/xmlrpc.php', '/phpmyadmin/index.php', '/server-status']

function createAgentVisit(dice: Dice, visitor: AgentVisitor, pages: readonly string[]): Visit {
  const { user_agent, network, habit, ignoresRobots: deaf } = visitor
  const address = `${network}.${1 + dice.integer(6)}`
  const headers = {
    'x-forwarded-for': address,
    ...(user_agent && { 'user-agent': user_agent }),
    accept: user_agent.includes('Claude-User') ? 'text/markdown, text/html;q=0.9, */*;q=0.8' : '*/*',
    ...(habit !== 'scan' && { 'accept-encoding': 'gzip, br' }),
  }
  const step = (path: string, wait: number, method = 'GET'): Step => ({ wait, method, path, headers })
  const pagesFor = (count: number) => Array.from({ length: count }, () => dice.popular(pages))
  const steps = (): Step[] => {
    switch (habit) {
      case 'root':
        return [step('/', 0, 'HEAD')]
      case 'feed':
        return [step('/feed.xml', 0)]
      case 'scan':
        return Array.from({ length: 2 + dice.integer(3) }, () => step(dice.pick(MISSING), 200))
      case 'answer':
        return pagesFor(1 + dice.integer(2)).map((path) => step(path, 300))
      case 'crawl': {
        const first = deaf ? [] : [step('/robots.txt', 0)]
        // robots.txt forbids the whole site to CCBot, which obeys.
        if (user_agent.startsWith('CCBot')) return first
        if (!deaf && dice.random() < 0.3) first.push(step(dice.random() < 0.5 ? '/sitemap.xml' : '/llms.txt', 500))
        const pages = pagesFor(2 + dice.integer(6)).map((path) => {
          if (deaf && dice.random() < 0.3) return dice.pick(['/proofs', '/pricing'])
          if (path.startsWith('/articles/') && dice.random() < 0.25) return `${path}.md`
          return dice.random() < 0.04 ? '/articles/issue-zero' : path
        })
        return [...first, ...pages.map((path) => step(path, dice.pause(2500)))]
      }
    }
  }
  return { visitor: `${address} ${user_agent}`, steps: steps() }
}
