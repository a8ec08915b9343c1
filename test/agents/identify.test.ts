import fc from 'fast-check'
import t from 'tap'
import { loadCatalog, parseCatalog } from '../../src/agents/catalog.js'
import { createExplain, createIdentify } from '../../src/agents/identify.js'
import { BOTS, BROWSERS } from '../fixtures/user-agents.js'

const catalog = loadCatalog()
const identify = createIdentify(catalog)
const id = (userAgent: string) => {
  const found = identify(userAgent)
  return found === undefined ? 'person' : (found.agent?.id ?? 'other')
}

t.test('the shipped catalog is valid', async (t) => {
  t.match(catalog.version, /^2026-11-27-[0-9a-f]{8}$/)
  t.equal(catalog.agents.length, 638)
  t.equal(catalog.get('gptbot')?.operator, 'OpenAI')
  const owners = new Map<string, string>()
  for (const agent of catalog.agents)
    for (const token of agent.ua_tokens) {
      const lower = token.toLowerCase()
      t.notOk(owners.has(lower), `${token} belongs to ${agent.id} alone`)
      owners.set(lower, agent.id)
      t.match(token, /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, `${token} is printable and trimmed`)
      if (agent.ua_match === 'token') t.match(token, /^[a-z0-9]/i, `${token} begins where a boundary can be seen`)
    }
  const tokens = new Set(catalog.agents.flatMap((agent) => agent.robots_tokens ?? []))
  for (const agent of catalog.agents) {
    for (const token of agent.robots_fallback ?? []) t.ok(tokens.has(token), `${agent.id} falls back to a known token`)
    t.equal(agent.ranges_url === undefined, agent.ranges_format === undefined, `${agent.id}: a list and its format`)
    for (const word of agent.ua_exclude ?? [])
      t.notOk(agent.ua_tokens.includes(word), `${agent.id} does not veto itself`)
  }
})

t.test('identifies each agent by each of its tokens', async (t) => {
  for (const agent of catalog.agents)
    for (const token of agent.ua_tokens) {
      const sent = agent.ua_match === 'exact-ua' ? token : `Mozilla/5.0 (X11; ${token}/1.0; +https://a.example/)`
      t.equal(id(sent), agent.id, sent)
    }
})

t.test('an app’s own browser is a person’s, and the app’s previews are an agent’s', async (t) => {
  const iphone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)'
  const android =
    'Mozilla/5.0 (Linux; Android 13; SM-S908B; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/120.0.6099.230 Mobile Safari/537.36'
  const rows: [userAgent: string, id: string, why: string][] = [
    [`${iphone} Mobile/15E148 WhatsApp/2.24.14`, 'person', 'WhatsApp on iOS'],
    [`${iphone} Version/17.5 Mobile/15E148 Safari/604.1 [WAiOS/2.26.31]`, 'person', 'WhatsApp of 2026'],
    [`${android} WhatsApp/2.24.5.78 A`, 'person', 'WhatsApp on Android'],
    [`${android.replace('Mobile ', '')} WhatsApp/2.24.5.78 A`, 'person', 'WhatsApp on a tablet'],
    ['WhatsApp/2.24.5.78 A', 'whatsapp', 'a preview'],
    [`${iphone} Freespoke/3.1 Mobile/15E148 Safari/605.1.15`, 'person', 'Freespoke’s browser'],
    [
      `${iphone.replace('iPhone; CPU iPhone OS 17_5 like Mac OS X', 'Macintosh; Intel Mac OS X 10.15')} Freespoke/3.1 Safari/605.1.15`,
      'person',
      'on an iPad',
    ],
    ['Mozilla/5.0 (compatible; Freespoke/2.0; +https://crawler.freespoke.com)', 'freespoke', 'its crawler'],
    [`${iphone} Mobile/15E148 Tumblr/iPhone/31.0`, 'person', 'Tumblr'],
    ['Tumblr/14.0.835.186', 'tumblr', 'its previews'],
    [`${android} Bluesky/1.100`, 'person', 'Bluesky'],
    ['Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; +mailto:support@bsky.app)', 'bluesky', 'its previews'],
  ]
  for (const [userAgent, expected, why] of rows) t.equal(id(userAgent), expected, `${why}: ${userAgent}`)
})

t.test('refuses a malformed catalog', async (t) => {
  const entry = {
    id: 'a-bot',
    name: 'A',
    operator: 'A',
    purpose: 'search',
    ua_tokens: ['A-Bot'],
    ua_match: 'token',
    robots_only: false,
    honors_wildcard_group: true,
    respects_robots: 'yes',
    client_side: false,
    status: 'active',
  }
  const file = (...agents: object[]) => JSON.stringify({ meta: { generated: '2026-11-21' }, agents })
  t.equal(parseCatalog(file(entry)).get('a-bot')?.name, 'A')
  const rows: [object, string][] = [
    [{ ...entry, purpose: 'mischief' }, 'an unknown purpose'],
    [{ ...entry, id: 'A Bot' }, 'a malformed id'],
    [{ ...entry, ua_tokens: [] }, 'no token although ua_match needs one'],
    [{ ...entry, ua_tokens: [''] }, 'an empty token, which would match every user agent'],
    [{ ...entry, ua_match: 'never' }, 'a token although no user agent contains it'],
    [{ ...entry, docs_url: 'javascript:alert(1)' }, 'a URL that is not http or https'],
    [{ ...entry, rdns_suffixes: ['evilgooglebot.com'] }, 'a suffix without its dot'],
    [{ ...entry, colour: 'red' }, 'an unknown field'],
  ]
  for (const [agent, why] of rows) t.throws(() => parseCatalog(file(agent)), why)
  t.throws(() => parseCatalog(file(entry, entry)), /twice/)
  const versions = [
    file(entry),
    file(entry),
    file({ ...entry, purpose: 'seo' }),
    file(entry, { ...entry, id: 'b-bot' }),
  ]
  const [one, again, ...others] = versions.map((json) => parseCatalog(json).version)
  t.equal(one, again, 'the same facts, the same version')
  t.equal(new Set([one, ...others]).size, 3, 'other facts of the same day are another version')
})

t.test('identifies bots that name themselves', async (t) => {
  for (const [userAgent, expected] of BOTS) t.equal(id(userAgent), expected, userAgent.slice(0, 80) || 'no user agent')
})

t.test('takes browsers for people', async (t) => {
  for (const [userAgent] of BROWSERS) t.equal(id(userAgent), 'person', userAgent)
})

t.test('takes apps that show pages and rare browsers for people', async (t) => {
  const iphone =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148'
  const android =
    'Mozilla/5.0 (Linux; Android 14; SM-S918B Build/UP1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/142.0.0.0 Mobile Safari/537.36'
  const desktop = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)'
  const rows = [
    `${iphone} Snapchat/12.50.0.40 (iPhone14,5; iOS 17.5; gzip)`,
    `${iphone} [LinkedInApp]/9.30.1`,
    `${iphone} Twitter for iPhone/10.50`,
    `${iphone} [Pinterest/iOS]`,
    `${android} Pinterest for Android/12.30.0`,
    `${android} musical_ly_2023005040 BytedanceWebview/d8a21c6`,
    `${android} Line/14.5.0/IAB`,
    `${android} MicroMessenger/8.0.40.2460(0x28002837) WeChat/arm64`,
    `${android} KAKAOTALK 10.4.3`,
    `${android} NAVER(inapp; search; 1200; 12.4.3)`,
    `${android} baiduboxapp/13.40.0.10 (Baidu; P1 13)`,
    `${android} [FB_IAB/FB4A;FBAV/470.0.0.38.108;]`,
    `${android} Telegram-Android/11.0.0 (Samsung SM-S918B; Android 14; SDK 34; HIGH)`,
    `${android} Viber/22.0`,
    `${desktop} discord/1.0.9030 Chrome/120.0.6099.291 Electron/28.2.10 Safari/537.36`,
    `${desktop} Slack/4.35.131 Chrome/120.0.0.0 Electron/28.1.0 Safari/537.36`,
    'Mozilla/5.0 (Linux; U; Android 4.4.2; en-us; KFTT Build/KOT49H) AppleWebKit/537.36 (KHTML, like Gecko) Silk/3.68 like Chrome/39.0.2171.93 Safari/537.36',
    'Opera/9.80 (Android; Opera Mini/75.0.2254/191.249; U; en) Presto/2.12.423 Version/12.16',
    'Mozilla/5.0 (Mobile; Nokia_8110_4G; rv:48.0) Gecko/48.0 Firefox/48.0 KAIOS/2.5',
    'Lynx/2.9.0dev.12 libwww-FM/2.14 SSL-MM/1.4.1 GNUTLS/3.7.8',
    'w3m/0.5.3+git20230121',
    'w3m/0.5.1',
    'NetSurf/1.2 (NetBSD; amd64)',
    'Mozilla/4.0 (compatible; Dillo 3.0)',
    'SonyEricssonT68/R201A',
  ]
  for (const userAgent of rows) t.equal(id(userAgent), 'person', userAgent)
})

t.test('applies each matching rule of the catalog', async (t) => {
  const rows: [string, string, string][] = [
    ['gptbot/1.2', 'gptbot', 'case does not matter'],
    ['  GPTBot  ', 'gptbot', 'spaces around it do not matter'],
    ['xGPTBot/1.2', 'other', 'a letter on the left is another word'],
    ['9GPTBot/1.2', 'other', 'a digit on the left is another word'],
    ['GPTBotanic/1.0', 'other', 'a letter on the right is another word'],
    ['Mozilla/5.0 (compatible; GPTBot2)', 'gptbot', 'a digit on the right is a version'],
    ['Mozilla/5.0 (compatible;_GPTBot)', 'gptbot', 'an underscore is neither letter nor digit'],
    ['Googlebot-Image/1.0', 'googlebot-image', 'the longest token wins'],
    ['AdsBot-Google-Mobile', 'adsbot-google-mobile', 'the longest token wins'],
    ['SemrushBot-SWA/1.0', 'semrushbot-swa', 'a veto leaves the match to the other entry'],
    ['Claude-User (claude-code/2.1; +https://support.anthropic.com/)', 'claude-code', 'a veto again'],
    ['Slackbot 1.0 (+https://api.slack.com/robots)', 'slackbot', 'the veto does not apply'],
    ['LinkedInBot/1.0 Apache-HttpClient', 'linkedinbot', 'a library counts only if nothing else matches'],
    ['GPTBot/1.2 python-requests-long-name/2 HeadlessChrome/1', 'gptbot', 'however long the name of the library is'],
    ['python-requests/2.32.3', 'python-requests', 'only a library'],
    ['compatible; acapbot/0.1; treat like Googlebot', 'other', 'a comparison is not an identity'],
    ['SentiBot www.sentibot.eu (compatible with Googlebot)', 'sentibot', 'a comparison in other words'],
    ['ThingBot (compatible with Googlebot)', 'other', 'the same by nobody known'],
    ['munin/2.0.30-1 (libwww-perl/6.15)', 'munin', 'a name wins over the library'],
    ['munin/http_loadtime', 'munin', 'the same without it'],
    ['ExactSeek Crawler (nutch 1.4)/Nutch-1.4 (ExactSeek Crawler; http://www.exactseek.com)', 'exactseek', 'an engine'],
    ['Mozilla/5.0 (compatible; presearch.com/Nutch-1.19)', 'presearch', 'another'],
    ['OICrawler/Nutch https://openindex.ai', 'other', 'an unknown name wins over the engine too'],
    ['AcmeWatch/2.1 (python-requests/2.32)', 'other', 'and over a library'],
    ['Nutch/1.19', 'nutch', 'the engine itself'],
    ['NutchCVS/0.7.1 (Nutch; http://lucene.apache.org/nutch/bot.html)', 'nutch', 'an old name of it'],
    ['my-nutch-test/Nutch-1.10', 'nutch', 'a name that is the engine again'],
    ['curl/8.5.0 libcurl/8.5.0 OpenSSL/3.0', 'curl', 'a library with its parts'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/142.0.0.0 Safari/537.36',
      'headlesschrome',
      'the form of a browser',
    ],
    ['TelegramBot (like TwitterBot)', 'telegrambot', 'a comparison next to an identity'],
    ['Mozilla/5.0 (like Gecko; compatible; Googlebot/2.1)', 'googlebot', 'a comparison with something else'],
    ['Unlike Googlebot, we are polite crawlers', 'googlebot', '"unlike" is not the word'],
    ['Google-Extended', 'other', 'a name in robots.txt that no user agent contains'],
    ['Mozilla/5.0 (compatible; Applebot-Extended/1.0)', 'other', 'another'],
    ['Mozilla/5.0 (compatible; Googlebot/2.1; https://deepcrawl.com/bot)', 'lumar', 'a copy of Googlebot that signs'],
    ['httpx - Open-source project (github.com/projectdiscovery/httpx)', 'projectdiscovery', 'not the library HTTPX'],
    ['python-httpx/0.27.0', 'python-httpx', 'the library'],
    ['Brightbot 1.0', 'brightbot-app', 'the chatbot of Bright Interactive'],
    ['Brightbot/2.0', 'brightbot', 'the crawler of Bright Data'],
    ['CCBot/2.0 (https://commoncrawl.org/faq/)', 'ccbot', 'of Common Crawl, although some lists say Reddit'],
    ['Dart/3.5 (dart:io)', 'dart', 'a library that isbot takes for a browser'],
    ['containerd/v2.0.0 (linux; amd64)', 'containerd', 'another'],
    ['ReactorNetty/1.1.22', 'reactor-netty', 'another'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/74.0.3729.169 Safari/537.36 Assetnote/1.0.0',
      'assetnote',
      'a scanner in the form of a browser',
    ],
    [
      'Mozilla/5.0 (linux) AppleWebKit/537.36 (KHTML, like Gecko) jsdom/22.1.0',
      'jsdom',
      'a library in the form of a browser',
    ],
    [
      'Mozilla/5.0 (Linux; U; Android 1.6; fr-fr; LG-GT540 ; Build/Donut) AppleWebKit/528.5+ (KHTML, like Gecko) Version/3.1.2 Mobile Safari/525.20.1 Java/Jbed/7.0 Profile/MIDP-2.1',
      'person',
      'a telephone that runs Java',
    ],
    ['Google', 'google-gemini-undeclared', 'the whole user agent'],
    ['Google Chrome', 'other', 'not a part of the user agent'],
    ['node', 'node-fetch-builtin', 'the whole user agent'],
    ['Mozilla/5.0 (X11; Linux) node', 'other', 'not a part of the user agent'],
    ['xUptime/3', 'uptime-com', 'a substring needs no boundary'],
    [
      'facebookexternalhit/1.1 Facebot Twitterbot/1.0',
      'imessage-preview',
      'three names in this order are a message preview',
    ],
    ['Mozilla/5.0 (compatible; SomethingNew/1.0; +https://new.example/bot.html)', 'other', 'isbot recognises it'],
    [
      'BlackBerry9000/4.6.0.167 Profile/MIDP-2.0 VendorID/102 ips-agent',
      'other',
      'a telephone that names itself an agent',
    ],
    ['NetSurf/1.2 (compatible; ThingBot/1.0)', 'other', 'a small browser that names itself a bot'],
    ['YandexMetrika/4.0', 'yandexmetrika', 'not the shorter name of its family'],
    ['YandexDirectDyn/1.0', 'yandexdirectdyn', 'the longest of three'],
    ['YandexSomethingNew/1.0 (+http://yandex.com/bots)', 'other', 'an unknown name of a known family'],
    ['-', 'other', 'the mark of logs for a missing user agent'],
    [' ', 'other', 'only spaces count as no user agent'],
    [`${BROWSERS[0]?.[0]}${' '.repeat(512)}GPTBot/1.2`, 'person', 'text beyond 512 characters is not read'],
  ]
  for (const [userAgent, expected, why] of rows) t.equal(id(userAgent), expected, `${why}: ${userAgent.slice(0, 70)}`)
})

t.test('identifies a hostile user agent as fast as any long one', async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 2000 }), (text) => {
      const found = identify(text)
      if (found?.agent) return catalog.get(found.agent.id) === found.agent
      return true
    }),
  )
  // The CPU of this process, because the machine may be busy.
  const before = process.cpuUsage()
  for (let i = 0; i < 200; i++) identify(` like ${i}`.repeat(4000))
  const { user, system } = process.cpuUsage(before)
  const each = (user + system) / 1_000 / 200
  t.ok(each < 5, `${each.toFixed(3)} ms for 30 KB of comparisons`)
})

t.test('explains which token decided and why others did not', async (t) => {
  const explain = createExplain(catalog)
  t.match(explain('Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)'), {
    audience: 'agent',
    agent_id: 'gptbot',
    operator: 'OpenAI',
    purpose: 'training',
    because: 'token',
    token: 'GPTBot',
    verification: ['ranges'],
    others: [],
  })
  t.match(explain(''), { audience: 'agent', agent_id: 'other', operator: 'Unknown', because: 'no_user_agent' })
  t.match(explain('xAI-Bot/1.0'), { operator: 'xAI', docs_url: 'undocumented' }, 'an agent without documentation')
  t.match(explain('acme-probe/1.30'), { agent_id: 'other', because: 'isbot', token: 'probe' })
  t.match(explain('Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'), {
    audience: 'human',
    because: 'nothing',
  })
  const rows: [string, string, string][] = [
    ['treat like Googlebot', 'googlebot', 'named only in a comparison'],
    ['xGPTBotanic', 'gptbot', 'part of another word'],
    ['Google-Extended', 'google-extended', 'a name in robots.txt that no User-Agent contains'],
    ['Googlebot-Image/1.0', 'googlebot', 'a longer or earlier token decided'],
    ['GPTBot/1.2 curl/8', 'curl', 'a library counts only if nothing else matches'],
    ['Claude-User (claude-code/2.1)', 'claude-user', 'vetoed by "claude-code"'],
  ]
  for (const [userAgent, agent_id, why] of rows)
    t.equal(explain(userAgent).others.find((one) => one.agent_id === agent_id)?.why, why, userAgent)
})
