import { AGENTS, BROWSERS, CAMPAIGNS, PLACES, REFERRERS } from './visitors.js'

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
  steps: Step[]
}

/** Returns a generator of numbers in [0, 1) with 32 bits of state (mulberry32); the same seed gives the same numbers. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let x = Math.imul(state ^ (state >>> 15), state | 1)
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61)
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296
  }
}

interface Visits {
  next(): Visit
}

/**
 * Returns an endless stream of visits, about three by people to two by agents. The stream depends on `random`, `base` and
 * `pages` only, never on responses or time.
 */
export function createVisits(random: () => number, base: string, pages: readonly string[]): Visits {
  const dice = createDice(random)
  const known: Person[] = []
  return {
    next() {
      if (random() < 0.4) return createAgentVisit(dice, pages)
      const back = known.length > 20 && random() < 0.35
      const person = back ? dice.pick(known) : createPerson(dice)
      if (!back) known.push(person)
      if (known.length > 500) known.shift()
      return createPersonVisit(dice, person, base, pages)
    },
  }
}

interface Dice {
  random(): number
  integer(below: number): number
  pick<T>(list: readonly T[]): T
  weighted<T extends { weight: number }>(list: readonly T[]): T
  /** Picks mostly from the beginning of the list. */
  popular<T>(list: readonly T[]): T
  /** Returns a reading time in milliseconds: half are below `middle`, a few are long. */
  pause(middle: number): number
}

function createDice(random: () => number): Dice {
  const at = <T>(list: readonly T[], index: number): T => {
    const found = list[Math.min(index, list.length - 1)]
    if (found === undefined) throw new Error('nothing to choose from')
    return found
  }
  const whole = (below: number) => Math.floor(random() * below)
  return {
    random,
    integer: whole,
    pick: (list) => at(list, whole(list.length)),
    popular: (list) => at(list, Math.floor(list.length * random() ** 1.7)),
    weighted(list) {
      let left = random() * list.reduce((sum, { weight }) => sum + weight, 0)
      const index = list.findIndex(({ weight }) => {
        left -= weight
        return left < 0
      })
      return at(list, index < 0 ? list.length - 1 : index)
    },
    pause: (middle) => Math.round(middle * Math.exp(1.8 * (random() + random() - 1))),
  }
}

interface Person {
  name: string
  headers: Record<string, string>
}

function createPerson(dice: Dice): Person {
  const { user_agent, hints } = dice.weighted(BROWSERS)
  const { network, language } = dice.weighted(PLACES)
  const address = `${network}.${dice.integer(256)}.${1 + dice.integer(254)}`
  return {
    name: `${address} ${user_agent}`,
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

function createPersonVisit(dice: Dice, person: Person, base: string, pages: readonly string[]): Visit {
  const { random } = dice
  const steps: Step[] = []
  const came = dice.weighted(REFERRERS).url
  const campaign = random() < 0.08 ? `?${dice.popular(CAMPAIGNS)}` : ''
  const count = random() < 0.45 ? 1 : 2 + Math.floor(Math.log(1 - random()) / Math.log(0.68))
  let previous = ''
  for (let i = 0; i < Math.min(count, 12); i++) {
    const path = i === 0 && random() < 0.3 ? '/' : random() < 0.015 ? '/articles/the-lost-essay' : dice.popular(pages)
    const referrer = i === 0 ? (campaign ? '' : came) : `${base}${previous}`
    const get = (path: string, wait: number, headers: Record<string, string>): Step => ({
      wait,
      method: 'GET',
      path,
      headers: { ...person.headers, ...headers },
    })
    const site = i > 0 ? 'same-origin' : referrer ? 'cross-site' : 'none'
    const fetches = (dest: string, mode: string, site: string) => ({
      'sec-fetch-dest': dest,
      'sec-fetch-mode': mode,
      'sec-fetch-site': site,
    })
    const page = {
      accept: DOCUMENT,
      ...(referrer && { referer: referrer }),
      ...fetches('document', 'navigate', site),
      'sec-fetch-user': '?1',
      'upgrade-insecure-requests': '1',
    }
    steps.push(get(path + (i === 0 ? campaign : ''), i === 0 ? 0 : dice.pause(7000), page))
    previous = path
    const own = { referer: base + path }
    if (i === 0) {
      for (const [asset, dest, accept] of ASSETS.slice(0, path === '/' ? 4 : 3)) {
        steps.push(get(asset, 30, { accept, ...own, ...fetches(dest, 'no-cors', 'same-origin') }))
      }
    }
    if (random() < 0.04) {
      const ahead = { accept: '*/*', 'sec-purpose': 'prefetch', ...own, ...fetches('empty', 'cors', 'same-origin') }
      steps.push(get(dice.popular(pages), 400, ahead))
    }
    if (path === '/gauge') {
      const stream = get('/api/gauge/stream', 100, {
        accept: 'text/event-stream',
        'cache-control': 'no-cache',
        ...own,
        ...fetches('empty', 'cors', 'same-origin'),
      })
      steps.push({ ...stream, leaveAfter: dice.pause(6000) })
    }
    if (path === '/subscribe' && random() < 0.5) {
      const form = { ...page, ...own, 'content-type': 'application/x-www-form-urlencoded', origin: base }
      const sent = {
        ...get(path, dice.pause(5000), form),
        method: 'POST',
        body: 'name=A.+Reader&email=reader%40mail.example',
      }
      steps.push(sent, get('/thank-you', 20, { ...page, ...own }))
    }
  }
  return { visitor: person.name, steps }
}

const MISSING = ['/wp-login.php', '/.env', '/.git/config', '/xmlrpc.php', '/phpmyadmin/index.php', '/server-status']

function createAgentVisit(dice: Dice, pages: readonly string[]): Visit {
  const { user_agent, network, habit, ignoresRobots: deaf } = dice.weighted(AGENTS)
  const address = `${network}.${1 + dice.integer(6)}`
  const headers = {
    'x-forwarded-for': address,
    ...(user_agent && { 'user-agent': user_agent }),
    accept: '*/*',
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
        if (!deaf && dice.random() < 0.3) first.push(step(dice.random() < 0.5 ? '/sitemap.xml' : '/llms.txt', 500))
        // robots.txt forbids the whole site to CCBot, which obeys.
        if (user_agent.startsWith('CCBot')) return first
        const found = pagesFor(2 + dice.integer(6)).map((path) => {
          if (deaf && dice.random() < 0.3) return '/proofs'
          if (path.startsWith('/articles/') && dice.random() < 0.25) return `${path}.md`
          return dice.random() < 0.04 ? '/articles/issue-zero' : path
        })
        return [...first, ...found.map((path) => step(path, dice.pause(2500)))]
      }
    }
  }
  return { visitor: `${address} ${user_agent}`, steps: steps() }
}
