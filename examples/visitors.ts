/** The visitors of the demo: their user agents, networks, languages and referrers. Weights are relative shares. */

const WINDOWS = 'Windows NT 10.0; Win64; x64'
const MAC = 'Macintosh; Intel Mac OS X 10_15_7'
const ANDROID = 'Linux; Android 10; K'
const chrome = (system: string, version: number, rest = '') =>
  `Mozilla/5.0 (${system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${version}.0.0.0 ${system === ANDROID ? 'Mobile ' : ''}Safari/537.36${rest}`
const iphone = (system: string, version: string) =>
  `Mozilla/5.0 (iPhone; CPU iPhone OS ${system} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/${version} Mobile/15E148 Safari/604.1`

interface BrowserVisitor {
  weight: number
  user_agent: string
  /** The client hints of a Chromium browser; other browsers send none. */
  hints?: { brand: string; platform: string; mobile: boolean }
}

const chromium = (weight: number, system: string, version: number, platform: string, brand = 'Google Chrome') => ({
  weight,
  user_agent: chrome(system, version, brand === 'Microsoft Edge' ? ` Edg/${version}.0.0.0` : ''),
  hints: {
    brand: `"Chromium";v="${version}", "${brand}";v="${version}", "Not_A Brand";v="99"`,
    platform,
    mobile: platform === 'Android',
  },
})

export const BROWSERS: readonly BrowserVisitor[] = [
  chromium(22, WINDOWS, 142, 'Windows'),
  chromium(8, WINDOWS, 141, 'Windows'),
  chromium(9, MAC, 142, 'macOS'),
  chromium(2, 'X11; Linux x86_64', 142, 'Linux'),
  chromium(17, ANDROID, 142, 'Android'),
  chromium(8, WINDOWS, 142, 'Windows', 'Microsoft Edge'),
  { weight: 10, user_agent: iphone('18_7', '26.1') },
  { weight: 5, user_agent: iphone('18_6', '18.6') },
  {
    weight: 7,
    user_agent: `Mozilla/5.0 (${MAC}) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Safari/605.1.15`,
  },
  { weight: 4, user_agent: `Mozilla/5.0 (${WINDOWS}; rv:145.0) Gecko/20100101 Firefox/145.0` },
  { weight: 2, user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0' },
]

/** Access networks (their first two bytes) that public routing tables assign to a country, with language and time zone of its browsers. */
export const PLACES: readonly { weight: number; network: string; language: string; timezone: string }[] = [
  { weight: 24, network: '24.6', language: 'en-US,en;q=0.9', timezone: 'America/New_York' },
  { weight: 9, network: '53.31', language: 'de-DE,de;q=0.9,en;q=0.8', timezone: 'Europe/Berlin' },
  { weight: 8, network: '51.219', language: 'en-GB,en;q=0.9', timezone: 'Europe/London' },
  { weight: 6, network: '77.202', language: 'fr-FR,fr;q=0.9,en;q=0.7', timezone: 'Europe/Paris' },
  { weight: 5, network: '49.35', language: 'en-IN,en;q=0.9,hi;q=0.8', timezone: 'Asia/Kolkata' },
  { weight: 4, network: '66.130', language: 'en-CA,en;q=0.9,fr-CA;q=0.7', timezone: 'America/Toronto' },
  { weight: 4, network: '60.147', language: 'ja-JP,ja;q=0.9', timezone: 'Asia/Tokyo' },
  { weight: 3, network: '177.117', language: 'pt-BR,pt;q=0.9', timezone: 'America/Sao_Paulo' },
  { weight: 3, network: '77.251', language: 'nl-NL,nl;q=0.9,en;q=0.8', timezone: 'Europe/Amsterdam' },
  { weight: 2, network: '78.66', language: 'sv-SE,sv;q=0.9,en;q=0.8', timezone: 'Europe/Stockholm' },
]

/** A script that sends a browser's user agent, from a network that rents out servers. */
export interface DisguisedScript {
  weight: number
  user_agent: string
  /** First three bytes of the address. */
  network: string
  /** Headers beside the user agent. */
  headers: Readonly<Record<string, string>>
  /** Pages that it reads; absent for all. */
  pages?: readonly string[]
  referrer?: string
  /** Pages of a visit, and milliseconds between two. */
  pace: { pages: number; wait: number }
}

export const DISGUISED_SCRIPTS: readonly DisguisedScript[] = [
  // Watches the prices, from the United States.
  {
    weight: 10,
    user_agent: chrome(WINDOWS, 142),
    network: '3.3.7',
    headers: { accept: '*/*', 'accept-encoding': 'gzip, deflate' },
    pages: ['/pricing', '/subscribe'],
    pace: { pages: 2, wait: 3_000 },
  },
  // Forges where it comes from, and names a browser of 2019, from Germany.
  {
    weight: 8,
    user_agent: chrome(WINDOWS, 72),
    network: '49.12.7',
    headers: { accept: 'text/html,*/*;q=0.8', 'accept-language': 'en-US,en;q=0.9', 'accept-encoding': 'gzip' },
    referrer: 'https://www.google.com/',
    pace: { pages: 4, wait: 9_000 },
  },
  // Copies the site, from Singapore.
  {
    weight: 1,
    user_agent: chrome(MAC, 141),
    network: '128.199.180',
    headers: { accept: 'text/html', 'accept-language': 'en', 'accept-encoding': 'gzip, deflate, br' },
    pace: { pages: 36, wait: 150 },
  },
]

/** Referrers of visits; empty stands for none. */
export const REFERRERS: readonly { weight: number; url: string }[] = [
  { weight: 34, url: '' },
  { weight: 26, url: 'https://www.google.com/' },
  { weight: 5, url: 'https://www.bing.com/' },
  { weight: 4, url: 'https://duckduckgo.com/' },
  { weight: 5, url: 'https://chatgpt.com/' },
  { weight: 2, url: 'https://www.perplexity.ai/' },
  { weight: 1, url: 'https://claude.ai/' },
  { weight: 4, url: 'https://news.ycombinator.com/' },
  { weight: 4, url: 'https://www.reddit.com/' },
  { weight: 3, url: 'https://l.facebook.com/' },
  { weight: 3, url: 'https://bsky.app/' },
  { weight: 2, url: 'https://harbour-notes.example/links/2026' },
]

export const CAMPAIGNS: readonly string[] = [
  'utm_source=newsletter&utm_medium=email&utm_campaign=issue-2',
  'utm_source=google&utm_medium=cpc&utm_campaign=tide-tables&utm_term=tide+table',
  'utm_source=facebook&utm_medium=paid&utm_campaign=autumn&utm_content=skerry',
  'utm_source=ferry&utm_medium=poster&utm_campaign=pier',
]

export interface AgentVisitor {
  weight: number
  user_agent: string
  /** First three bytes of the address. */
  network: string
  /** The agent that the network belongs to; absent where it belongs to none, or the operator publishes no addresses. */
  agent_id?: string
  /**
   * crawl: robots.txt, then pages. answer: one page, for a user of the agent. root: HEAD of the front page. feed: the
   * feed. scan: paths that do not exist.
   */
  habit: 'crawl' | 'answer' | 'root' | 'feed' | 'scan'
  /** Fetches what robots.txt forbids. */
  ignoresRobots?: boolean
  /** Pages that robots.txt forbids to it, which it leaves out. */
  forbidden?: readonly string[]
  /** Pages that it reads; absent for all. */
  pages?: readonly string[]
}

/** Pages that robots.txt forbids to crawlers for training, and those that it forbade before its last change. */
const FORBIDDEN = ['/radio', '/pricing']
export const FORBIDDEN_BEFORE: readonly string[] = ['/radio']

const WEBKIT = 'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible;'
const crawl = (weight: number, user_agent: string, network: string, agent_id?: string): AgentVisitor => ({
  weight,
  user_agent,
  network,
  ...(agent_id === undefined ? {} : { agent_id }),
  habit: 'crawl',
})

export const AGENTS: readonly AgentVisitor[] = [
  crawl(9, 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', '66.249.66', 'googlebot'),
  { ...crawl(8, `${WEBKIT} GPTBot/1.2; +https://openai.com/gptbot)`, '20.171.207', 'gptbot'), forbidden: FORBIDDEN },
  {
    ...crawl(7, `${WEBKIT} ClaudeBot/1.0; +claudebot@anthropic.com)`, '216.73.216', 'claudebot'),
    forbidden: FORBIDDEN,
  },
  crawl(
    5,
    `${WEBKIT} bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/136.0.0.0 Safari/537.36`,
    '40.77.167',
    'bingbot',
  ),
  crawl(3, `${WEBKIT} PerplexityBot/1.0; +https://perplexity.ai/perplexitybot)`, '18.97.9', 'perplexitybot'),
  crawl(3, `${WEBKIT} OAI-SearchBot/1.0; +https://openai.com/searchbot)`, '51.8.102', 'oai-searchbot'),
  crawl(2, 'CCBot/2.0 (https://commoncrawl.org/faq/)', '18.97.14', 'ccbot'),
  crawl(3, 'Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)', '54.36.148', 'ahrefsbot'),
  {
    ...crawl(3, 'Mozilla/5.0 (compatible; Bytespider; spider-feedback@bytedance.com)', '110.249.201'),
    ignoresRobots: true,
  },
  // Claims to be GPTBot from a network that is not OpenAI's.
  { ...crawl(4, `${WEBKIT} GPTBot/1.2; +https://openai.com/gptbot)`, '45.148.10'), ignoresRobots: true },
  crawl(2, 'TideIndexBot/0.3 (+https://tide-index.example/bot)', '95.217.3'),
  {
    weight: 5,
    user_agent: `${WEBKIT} ChatGPT-User/1.0; +https://openai.com/bot)`,
    network: '23.98.142',
    agent_id: 'chatgpt-user',
    habit: 'answer',
  },
  {
    weight: 3,
    user_agent: `${WEBKIT} Claude-User/1.0; +Claude-User@anthropic.com)`,
    network: '160.79.104',
    agent_id: 'claude-user',
    habit: 'answer',
    // Never reads the front page, where its operator sends people.
    pages: ['/articles/slack-water', '/articles/two-bulges', '/articles/fog-signals', '/tides'],
  },
  {
    weight: 2,
    user_agent: `${WEBKIT} Perplexity-User/1.0; +https://perplexity.ai/perplexity-user)`,
    network: '18.97.21',
    agent_id: 'perplexity-user',
    habit: 'answer',
  },
  {
    weight: 2,
    user_agent: 'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
    network: '69.171.249',
    habit: 'answer',
  },
  {
    weight: 3,
    user_agent: 'Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)',
    network: '216.144.248',
    habit: 'root',
  },
  {
    weight: 3,
    user_agent: 'Feedly/1.0 (+http://www.feedly.com/fetcher.html; 113 subscribers; )',
    network: '8.29.198',
    habit: 'feed',
  },
  { weight: 2, user_agent: 'curl/8.5.0', network: '159.69.12', habit: 'answer' },
  { weight: 2, user_agent: 'python-requests/2.32.3', network: '3.8.7', habit: 'answer' },
  { weight: 2, user_agent: 'Mozilla/5.0 zgrab/0.x', network: '162.142.125', habit: 'scan' },
  { weight: 1, user_agent: '', network: '80.82.77', habit: 'scan' },
]
