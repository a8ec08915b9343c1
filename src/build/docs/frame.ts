import { CHAPTERS, type DocsPage } from './chapters.js'
import { hrefOf } from './links.js'
import { escapeHtml, type RenderedPage } from './markdown.js'

/** Addresses of the files that every page loads. */
export interface Assets {
  readonly style: string
  readonly theme: string
  readonly search: string
  readonly index: string
}

/** The logo of the dashboard. */
const LOGO = `<svg width="24" height="20" viewBox="0 0 24 20" aria-hidden="true"><path class="people" d="M11 4.2C8.6 2.6 5.6 2 1.5 2v13.6c4.1 0 7.1.6 9.5 2.2z"/><path class="agents" d="M13 4.2C15.4 2.6 18.4 2 22.5 2v13.6c-4.1 0-7.1.6-9.5 2.2z"/></svg>`

/** The page before and after each page. */
const neighbourLink = (page: DocsPage | undefined, rel: 'prev' | 'next'): string =>
  page === undefined ? '<span></span>' : `<a rel="${rel}" href="${hrefOf(page)}">${escapeHtml(page.title)}</a>`

function navigation(current: DocsPage, { headings }: RenderedPage, pages: readonly DocsPage[]): string {
  const sections = headings.filter(({ level }) => level === 2)
  const sectionList =
    sections.length < 2
      ? ''
      : `<ul>${sections.map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`).join('')}</ul>`
  const item = (page: DocsPage) =>
    page === current
      ? `<li><a href="${hrefOf(page)}" aria-current="page">${escapeHtml(page.title)}</a>${sectionList}</li>`
      : `<li><a href="${hrefOf(page)}">${escapeHtml(page.title)}</a></li>`
  const chapters = CHAPTERS.map(({ title, pages: listed }) => ({
    title,
    items: [
      ...listed.filter((page) => pages.includes(page)).map(item),
      ...(title === 'API' ? ['<li><a href="../api/docs">API reference</a></li>'] : []),
    ],
  }))
  return chapters
    .filter(({ items }) => items.length > 0)
    .map(({ title, items }) => `<h2>${title}</h2>\n<ul>${items.join('\n')}</ul>`)
    .join('\n')
}

/** Draws a page with the site's frame. Every address in it is relative, so that the site may stand below any path. */
export function drawPage(
  page: DocsPage,
  rendered: RenderedPage,
  site: { pages: readonly DocsPage[]; assets: Assets; version: string; sourceOf(page: DocsPage): string },
): string {
  const { pages, assets, version } = site
  const at = pages.indexOf(page)
  const title = page.name === 'index' ? 'readership documentation' : `${page.title} - readership documentation`
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><link rel="icon" href="../favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${assets.style}"><script src="${assets.theme}"></script><script type="module" src="${assets.search}"></script></head>
<body><a class="skip" href="#main">Skip to the page</a>
<header><a class="brand" href="./">${LOGO}readership</a>
<form id="search" role="search" data-index="${assets.index}" hidden><input type="search" name="q" placeholder="Search" aria-label="Search the documentation" autocomplete="off" spellcheck="false">
<div id="results" hidden><p role="status"></p><ol></ol></div></form>
<a class="contents" href="#contents">Contents</a><a href="../api/docs">API</a><a href="../">Dashboard</a></header>
<div class="page"><main id="main" tabindex="-1"><h1>${escapeHtml(page.title)}</h1>
${rendered.html}<p class="neighbours">${neighbourLink(pages[at - 1], 'prev')}${neighbourLink(pages[at + 1], 'next')}</p>
<p class="source">readership ${escapeHtml(version)}. This page is <a href="${escapeHtml(site.sourceOf(page))}">${page.file}</a>.</p></main>
<nav id="contents" aria-label="Contents">${navigation(page, rendered, pages)}</nav></div></body></html>
`
}
