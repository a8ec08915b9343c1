import type { Text } from './content.js'
import { escapeHtml, toHtml } from './markdown.js'
import { extremes, height, STATIONS } from './tides.js'

const NAV = [
  ['/articles', 'Articles'],
  ['/tides', 'Tides'],
  ['/gauge', 'The gauge'],
  ['/radio', 'Radio'],
  ['/about', 'About'],
  ['/pricing', 'Pricing'],
  ['/subscribe', 'Subscribe'],
] as const
const FOOT = [
  ['/harbours', 'Harbours today'],
  ['/notices', 'Notices'],
  ['/ferry', 'The ferry'],
  ['/issues/1', 'Issue 1'],
  ['/issues/2', 'Issue 2'],
  ['/glossary', 'Glossary'],
  ['/contributors', 'Contributors'],
  ['/press', 'Downloads'],
  ['/contact', 'Contact'],
  ['/privacy', 'Privacy'],
  ['/feed.xml', 'Feed'],
] as const

/** Renders a whole page around its main part; `head` adds elements that only this page has. */
export function layout(page: { title: string; summary: string; path: string; main: string; head?: string }): string {
  const links = (list: readonly (readonly [string, string])[]) =>
    list
      .map(([href, text]) => `<a href="${href}"${href === page.path ? ' aria-current="page"' : ''}>${text}</a>`)
      .join('\n')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(page.path === '/' ? page.title : `${page.title} · Slack Water`)}</title>
<meta name="description" content="${escapeHtml(page.summary)}">
<link rel="icon" href="/img/mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="/style.css">
<link rel="alternate" type="application/rss+xml" title="Slack Water" href="/feed.xml">
${page.head ?? ''}<script src="/site.js" defer></script>
</head>
<body>
<a class="skip" href="#main">To the text</a>
<header class="site">
<a class="brand" href="/"><img src="/img/mark.svg" alt="" width="32" height="32">Slack Water</a>
<nav aria-label="Main">
${links(NAV)}
</nav>
</header>
<main id="main">
${page.main}
</main>
<footer class="site">
<nav aria-label="More">
${links(FOOT)}
</nav>
<p>Slack Water, a journal of tidal coasts. Above the chandler's, Coal Pier, Ostrand. The place is invented; the arithmetic is not.</p>
</footer>
</body>
</html>
`
}

const day = (date: Date) =>
  date.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })

export function textPage(text: Text): string {
  const plate = text.plate ? `<img class="plate" src="/img/${text.plate}.svg" alt="" width="1200" height="600">\n` : ''
  const byline = text.author
    ? `<p class="byline"><a href="/contributors">${escapeHtml(text.author)}</a> · <time datetime="${text.date.toISOString().slice(0, 10)}">${day(text.date)}</time> · <a href="/issues/${text.issue}">issue ${text.issue}</a></p>\n`
    : ''
  return layout({
    title: text.title,
    summary: text.summary,
    path: text.path,
    head: `<link rel="alternate" type="text/markdown" href="${text.path}.md">\n`,
    main: `${plate}<article class="prose">\n<h1>${escapeHtml(text.title)}</h1>\n<p class="lead">${escapeHtml(text.summary)}</p>\n${byline}${toHtml(text.body)}\n</article>`,
  })
}

export const cards = (texts: readonly Text[]): string =>
  `<ul class="cards">${texts
    .map(
      (text) =>
        `<li>${text.plate ? `<img src="/img/${text.plate}.svg" alt="" loading="lazy" width="1200" height="600">` : ''}<div><h3><a href="${text.path}">${escapeHtml(text.title)}</a></h3><p>${escapeHtml(text.summary)}</p></div></li>`,
    )
    .join('\n')}</ul>`

export const homePage = (articles: readonly Text[], places: readonly Text[]): string =>
  layout({
    title: 'Slack Water, a journal of tidal coasts',
    summary: 'Essays on tides, harbours and marshes by people who have stood in them.',
    path: '/',
    main: `<section class="hero"><img src="/img/hero.svg" alt="" width="1680" height="720"><div><h1>Slack Water</h1><p>Essays on tides, harbours and marshes by people who have stood in them.</p></div></section>
<h2>From the latest issue</h2>
${cards(articles.slice(0, 6))}
<h2><a href="/places">Places</a></h2>
${cards(places)}`,
  })

export function tidesPage(from: number): string {
  const tables = [...STATIONS].map(([id, station]) => {
    const rows = extremes(station, from, from + 3 * 86_400_000).map(
      ({ at, kind, height }) =>
        `<tr><td><time datetime="${at}">${at.slice(0, 10)} ${at.slice(11, 16)}</time></td><td>${kind}</td><td>${height.toFixed(2)} m</td></tr>`,
    )
    return `<h2><a href="/places/${id}">${station.name}</a></h2>\n<table><thead><tr><th>UTC</th><th>Water</th><th>Above datum</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
  })
  return layout({
    title: 'Tides',
    summary: 'High and low water for three harbours, three days ahead.',
    path: '/tides',
    main: `<div class="prose"><h1>Tides</h1><p class="lead">Three harbours, three days. Astronomy only: <a href="/articles/reading-a-tide-table">how to read it</a>. For programs, the same <a href="/api/tides?station=ostrand">as JSON</a>.</p>${tables.join('\n')}</div>`,
  })
}

/** Milliseconds for which a notice stands: the page of notices changes while the demo runs. */
const NOTICE_MS = 1_800_000

/** Returns when the present notice was issued, in milliseconds since 1970. */
export const noticeTime = (at: number): number => Math.floor(at / NOTICE_MS) * NOTICE_MS

export function noticesPage(at: number): string {
  const issued = noticeTime(at)
  const levels = [...STATIONS.values()].map(
    (station) => `<tr><td>${station.name}</td><td>${height(station, issued).toFixed(2)} m</td></tr>`,
  )
  return layout({
    title: 'Notices to mariners',
    summary: 'News from the harbour offices, every half hour.',
    path: '/notices',
    main: `<div class="prose"><h1>Notices to mariners</h1><p class="lead">Notice of ${new Date(issued).toISOString().slice(0, 16).replace('T', ' ')} UTC. The levels at our gauges, which boats in the sounds need:</p><table><thead><tr><th>Harbour</th><th>Above datum</th></tr></thead><tbody>${levels.join('')}</tbody></table></div>`,
  })
}

/** Renders a page without any text of its own: a script writes it. Programs that run none find nothing here. */
export const harboursPage = (): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Harbours today · Slack Water</title>
<link rel="icon" href="/img/mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="/style.css">
<script src="/site.js" defer></script>
</head>
<body><main id="harbours"></main></body>
</html>
`

/** Renders a page that is gone, and is served with status 200 all the same. */
export const ferryPage = (): string =>
  layout({
    title: 'Page not found',
    summary: 'The ferry has no timetable any more.',
    path: '/ferry',
    main: `<div class="prose"><h1>Page not found</h1><p class="lead">The ferry has no timetable any more. Ask on the <a href="/radio">radio</a>.</p></div>`,
  })

export const gaugePage = (): string =>
  layout({
    title: 'The gauge',
    summary: 'The sea at Ostrand, this second.',
    path: '/gauge',
    main: `<h1>The gauge</h1><p class="lead">What the encoder in the <a href="/articles/how-a-harbour-listens">hut on the pier</a> reads, every two seconds.</p>
<p class="reading" id="gauge" aria-live="off">-.--- m</p><p id="trend">waiting for the first reading</p>
<svg class="curve" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true"><path d=""/></svg>`,
  })

export const radioPage = (): string =>
  layout({
    title: 'Radio',
    summary: 'Channel 12. Ask the harbour for the tide.',
    path: '/radio',
    main: `<h1>Radio</h1><p class="lead">Channel 12. Everyone on this page hears what you say. Ask for the tide and the harbour answers.</p>
<ul id="log" aria-live="polite"></ul>
<form id="radio"><label for="message">Say</label><input id="message" name="message" maxlength="200" autocomplete="off"><button>Send</button></form>`,
  })

export const subscribePage = (error = ''): string =>
  layout({
    title: 'Subscribe',
    summary: 'Four issues a year, if the ferry runs.',
    path: '/subscribe',
    main: `<div class="prose"><h1>Subscribe</h1><p class="lead">Four issues a year, if the ferry runs. Nothing to pay here: we send a bill with the first issue.</p>
${error ? `<p class="error" role="alert">${escapeHtml(error)}</p>\n` : ''}<form method="post" action="/subscribe"><label for="name">Name</label><input id="name" name="name" autocomplete="name"><label for="email">Electronic mail</label><input id="email" name="email" type="email" autocomplete="email" required><button>Write my card</button></form></div>`,
  })

export const searchPage = (words: string, texts: readonly Text[]): string =>
  layout({
    title: 'Search',
    summary: 'Find a text.',
    path: '/search',
    main: `<h1>Search</h1><form action="/search"><label for="q">Words</label><input id="q" name="q" value="${escapeHtml(words)}"><button>Look</button></form>
${words ? `<p>${texts.length} ${texts.length === 1 ? 'text has' : 'texts have'} “${escapeHtml(words)}”.</p>\n${cards(texts)}` : ''}`,
  })

export const errorPage = (title: string, text: string): string =>
  layout({
    title,
    summary: text,
    path: '',
    main: `<div class="prose"><h1>${escapeHtml(title)}</h1><p class="lead">${escapeHtml(text)}</p><p><a href="/">Back to the harbour</a>, or <a href="/search">search</a>.</p></div>`,
  })
