import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { command } from '../fixtures/command.js'
import { signIn, startDashboard } from '../fixtures/dashboard-service.js'
import { eventually } from '../fixtures/instance.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

/**
 * Views of lists open with what stands out, from rows counted by hand: 100 people in the last seven days, of whom 20 came
 * again the day after, and 100 others in the seven days before.
 */
const DAY = 86_400_000
/** The fixture moves rows from the first of November to now. */
const NOW = Date.parse('2026-10-29T10:00:00Z')
const BEFORE = NOW - 7 * DAY

interface Visit {
  person: number
  at: number
  /** One page, or two of which the second is viewed a minute later. */
  pages: readonly string[]
  device_type: string
}
const hits = ({ person, at, pages, device_type }: Visit) =>
  pages.map((pathname, i) =>
    eventRow({
      timestamp: new Date(at + i * 60_000),
      session_start: new Date(at),
      visitor_id: BigInt(9_000_000 + person),
      session_id: BigInt(at) + BigInt(person),
      hostname: 'hand.example',
      pathname,
      entry_page: pages[0] ?? null,
      device_type,
      browser: 'Firefox',
    }),
  )
const people = (n: number, visitOf: (person: number) => Visit) =>
  Array.from({ length: n }, (_, i) => hits(visitOf(i + 1))).flat()
const visits = [
  ...people(100, (person) => ({
    ...{ person, at: NOW, device_type: person <= 60 ? 'mobile' : 'desktop' },
    pages: person <= 50 ? ['/hand/a'] : ['/hand/a', '/hand/b'],
  })),
  ...people(20, (person) => ({ person, at: NOW + DAY, device_type: 'mobile', pages: ['/hand/a', '/hand/b'] })),
  // Tablets are not used any more, so they are in no list of now.
  ...people(100, (person) => ({
    ...{ person: 1_000 + person, at: BEFORE },
    device_type: person <= 40 ? 'mobile' : person <= 70 ? 'desktop' : 'tablet',
    pages: person <= 80 ? ['/hand/b'] : ['/hand/b', '/hand/a'],
  })),
]
const fetch = (agent_id: string, verification: 'indeterminate' | 'spoofed') =>
  agentRow({ timestamp: new Date(NOW), agent_id, verification, hostname: 'hand.example', pathname: '/hand/a' })
const fetches = [
  ...Array.from({ length: 5 }, () => fetch('gptbot', 'indeterminate')),
  ...Array.from({ length: 3 }, () => fetch('ccbot', 'indeterminate')),
  ...Array.from({ length: 9 }, () => fetch('googlebot', 'spoofed')),
]

const SENTENCES: readonly [view: string, en: string, de: string][] = [
  [
    'sessions',
    'In 7 days 120 visits began: 41.7% bounced, 38 points lower than in the 7 days before; on average, a visit took 35 s.',
    'In 7 Tagen: 120 Besuche; 41,7 % sprangen ab, 38 Punkte weniger als in den 7 Tagen davor; im Schnitt dauerte ein Besuch 35 s.',
  ],
  [
    'visitors',
    'In 7 days 100 people visited; of 100 people who were new and whose return is known, 20.0% came back the day after.',
    'In 7 Tagen: 100 Menschen; von 100 Menschen mit erstem Besuch, deren Wiederkehr bekannt ist, kamen 20,0 % am Tag danach wieder.',
  ],
  [
    'devices',
    'In 7 days 60.0% of people used a phone, 20 points higher than in the 7 days before; the most used browser was Firefox with 100%.',
    'In 7 Tagen nutzten 60,0 % der Menschen ein Telefon, 20 Punkte mehr als in den 7 Tagen davor; der häufigste Browser war Firefox mit 100 %.',
  ],
  [
    'coverage',
    'Of 2 pages that people or agents read or a sitemap lists, agents have not read /hand/b. GPTBot fetched most: 5 of 8 fetches.',
    'Von 2 Seiten, die gelesen wurden oder in einer Sitemap stehen, lasen Agenten /hand/b nie. Am meisten rief GPTBot ab: 5-mal; insgesamt: 8 Abrufe.',
  ],
  [
    'decay',
    '/hand/b lost most, from 100 to 70 pageviews. That is too little for a verdict: under 28 days, 50 pageviews or 10 fetches.',
    '/hand/b verlor am meisten, von 100 auf 70 Seitenaufrufe. Für ein Urteil ist das zu wenig: unter 28 Tagen, 50 Seitenaufrufen oder 10 Abrufen.',
  ],
]
const FILTERS = encodeURIComponent(JSON.stringify([{ dimension: 'hostname', op: 'is', value: 'hand.example' }]))

const app = await startDashboard(t, { people: 40, agents: 40, visits, fetches })
await command('sites', 'update', '1', '--data', app.data, '--visitor-salt', 'never')
const browser = await openBrowser(t)

for (const locale of ['en-GB', 'de-DE'])
  t.test(`the first sentence says what stands out: ${locale}`, async (t) => {
    const { context, page, trouble } = await signIn(browser, app, { locale })
    const read = async () => String(await page.textContent('main .sentence')).replace(/[\u00a0\u202f]/g, ' ')
    const open = async (view: string, more: string) => {
      await page.goto(
        `${app.admin}/sites/1/${view}?range=7d${more.includes('filters=') ? '' : `&filters=${FILTERS}`}${more}`,
      )
      await eventually(`${view} has its sentence`, async () => (await read()).length > 10)
    }
    for (const [view, en, de] of SENTENCES) {
      await open(view, '')
      t.equal(await read(), locale === 'en-GB' ? en : de, view)
    }
    await open('devices', '&compare=none')
    t.notMatch(await read(), /points|Punkte/, 'no change without a comparison')
    // A visit that began elsewhere is in the list, but bounces nowhere.
    const ofPage = JSON.stringify([{ dimension: 'pathname', op: 'is', value: '/hand/b' }])
    await open('sessions', `&filters=${encodeURIComponent(ofPage)}`)
    t.notMatch(await read(), /bounced|sprangen/, 'nothing is said of the visits of one page')
    t.same(trouble.lines, [])
    await context.close()
  })
