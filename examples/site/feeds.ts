import type { Text } from './content.js'
import { escapeHtml, toHtml } from './markdown.js'

/** Renders the sitemap with absolute URLs (https://www.sitemaps.org/protocol.html). */
export const sitemap = (base: string, pages: readonly { path: string; modified: Date }[]): string =>
  `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${pages.map(({ path, modified }) => `<url><loc>${escapeHtml(base + path)}</loc><lastmod>${modified.toISOString().slice(0, 10)}</lastmod></url>`).join('\n')}
</urlset>
`

export const rss = (base: string, articles: readonly Text[]): string =>
  `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>Slack Water</title>
<link>${base}/</link>
<description>A journal of tidal coasts</description>
<language>en</language>
<atom:link href="${base}/feed.xml" rel="self" type="application/rss+xml"/>
${articles
  .map(
    (
      text,
    ) => `<item><title>${escapeHtml(text.title)}</title><link>${base}${text.path}</link><guid>${base}${text.path}</guid><pubDate>${text.date.toUTCString()}</pubDate>
<description>${escapeHtml(toHtml(text.body))}</description></item>`,
  )
  .join('\n')}
</channel></rss>
`

/** Renders llms.txt: a title, a summary, and lists of links to the Markdown of each page (https://llmstxt.org). */
export function llms(articles: readonly Text[], places: readonly Text[], others: readonly Text[]): string {
  const list = (texts: readonly Text[]) =>
    texts.map((text) => `- [${text.title}](${text.path}.md): ${text.summary}`).join('\n')
  return `# Slack Water

> A journal of tidal coasts: essays on tides, harbours and marshes, with live water levels for three (invented) harbours.

Every text has a Markdown twin at its own address followed by \`.md\`.

## Articles

${list(articles)}

## Places

${list(places)}

## Data

- [Tides](/api/tides?station=ostrand): high and low waters as JSON; parameters \`station\` (ostrand, fennick-sound, the-skerry) and \`hours\` (1 to 720)
- [The gauge](/api/gauge/stream): the level at Ostrand as server-sent events

## Optional

${list(others)}
`
}

/** Renders a text as Markdown with its title. */
export const markdownTwin = (text: Text): string =>
  `# ${text.title}\n\n> ${text.summary}\n\n${text.author ? `By ${text.author}, ${text.date.toISOString().slice(0, 10)}, issue ${text.issue}.\n\n` : ''}${text.body}\n`
