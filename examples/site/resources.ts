import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { Text } from './content.js'
import { llms, markdownTwin, rss, sitemap } from './feeds.js'
import {
  cards,
  ferryPage,
  gaugePage,
  harboursPage,
  homePage,
  layout,
  noticesPage,
  noticeTime,
  radioPage,
  subscribePage,
  textPage,
  tidesPage,
} from './layout.js'
import { type Resource, resource } from './resource.js'

export const HTML = 'text/html; charset=utf-8'
const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.pdf': 'application/pdf',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wav': 'audio/wav',
  '.webp': 'image/webp',
}
const PAGE = { 'cache-control': 'public, max-age=0, must-revalidate' }
/** Pages that are served but not listed in the sitemap. */
const UNLISTED = new Set(['/proofs', '/thank-you'])

/** Prepares every resource that is the same for all clients, by path, and lists the pages for the sitemap. */
export function readResources(
  folder: string,
  texts: readonly Text[],
  base: string,
  started: Date,
): { resources: Map<string, Resource>; pages: string[] } {
  const fixed = fixedPages(texts, started)
  const listed = [...fixed].filter(([path]) => !UNLISTED.has(path)).map(([path, { modified }]) => ({ path, modified }))
  const resources = new Map([
    ...fixed,
    ...texts.map((text): [string, Resource] => [
      `${text.path}.md`,
      resource(markdownTwin(text), 'text/markdown; charset=utf-8', text.date, { headers: PAGE }),
    ]),
    ...feeds(texts, base, listed, started),
    ...files(folder, base),
  ])
  return { resources, pages: listed.map(({ path }) => path) }
}

/** The page of notices, which changes while the site runs. */
export const notices = (at: number): [string, Resource] => [
  '/notices',
  resource(noticesPage(at), HTML, new Date(noticeTime(at)), { headers: PAGE }),
]

function fixedPages(texts: readonly Text[], started: Date): Map<string, Resource> {
  const articles = texts.filter((text) => text.path.startsWith('/articles/'))
  const places = texts.filter((text) => text.path.startsWith('/places/'))
  const latest = texts[0]?.date ?? started
  const page = (html: string, modified = latest, headers: Record<string, string> = {}) =>
    resource(html, HTML, modified, { headers: { ...PAGE, ...headers } })
  const list = (path: string, title: string, summary: string, of: readonly Text[]): [string, Resource] => [
    path,
    page(layout({ path, title, summary, main: `<h1>${title}</h1><p class="lead">${summary}</p>${cards(of)}` })),
  ]
  const issue = (number: number, name: string) =>
    list(
      `/issues/${number}`,
      `Issue ${number}: ${name}`,
      'What was in it.',
      articles.filter((text) => text.issue === number),
    )
  const entryOf = (text: Text): [string, Resource] => [
    text.path,
    page(textPage(text), text.date, { link: `<${text.path}.md>; rel="alternate"; type="text/markdown"` }),
  ]
  // The order of the sitemap; the demo's visitors prefer the first pages.
  return new Map([
    ['/', page(homePage(articles, places))],
    ...texts.filter(({ path }) => path === '/pricing').map(entryOf),
    ...articles.map(entryOf),
    ['/tides', page(tidesPage(started.getTime()), started)],
    ['/gauge', page(gaugePage())],
    ['/subscribe', page(subscribePage())],
    ['/harbours', page(harboursPage())],
    notices(started.getTime()),
    ['/ferry', page(ferryPage())],
    list('/articles', 'Articles', 'Everything we have printed, newest first.', articles),
    issue(2, 'the instruments'),
    issue(1, 'the pause'),
    list('/places', 'Places', 'Where the articles happen.', places),
    ['/radio', page(radioPage())],
    ...texts.filter((text) => !articles.includes(text)).map(entryOf),
  ])
}

function feeds(
  texts: readonly Text[],
  base: string,
  pages: readonly { path: string; modified: Date }[],
  modified: Date,
): [string, Resource][] {
  const articles = texts.filter((text) => text.author)
  const places = texts.filter((text) => text.path.startsWith('/places/'))
  const others = texts.filter((text) => ['/about', '/glossary', '/contributors'].includes(text.path))
  const short = { headers: { 'cache-control': 'public, max-age=300' } }
  return [
    ['/sitemap.xml', resource(sitemap(base, pages), 'application/xml; charset=utf-8', modified, short)],
    ['/feed.xml', resource(rss(base, articles), 'application/rss+xml; charset=utf-8', modified, short)],
    ['/llms.txt', resource(llms(articles, places, others), 'text/plain; charset=utf-8', modified, short)],
  ]
}

/** Reads every file of `public`, by its path. */
function files(folder: string, base: string): [string, Resource][] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((file): [string, Resource][] => {
    const type = TYPES[extname(file)]
    if (type === undefined) return []
    const bytes = readFileSync(join(folder, file))
    const body = file === 'robots.txt' ? bytes.toString().replaceAll('{{base}}', base) : bytes
    const headers = { 'cache-control': `public, max-age=${extname(file) === '.txt' ? 300 : 3600}` }
    return [[`/${file.replaceAll('\\', '/')}`, resource(body, type, statSync(join(folder, file)).mtime, { headers })]]
  })
}
