import { Marked, type Tokens } from 'marked'

export interface Heading {
  readonly level: number
  readonly id: string
  readonly text: string
}

/** The text between two headings, without its markup. */
interface Part {
  readonly heading: Heading | undefined
  text: string
}

export interface RenderedPage {
  readonly html: string
  readonly headings: readonly Heading[]
  readonly parts: readonly Part[]
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? sign)

/** Names headings as GitHub does, so that anchors of links are the same in both places. */
function createSlugger() {
  const counts = new Map<string, number>()
  return (text: string): string => {
    const slug = text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-')
    const count = counts.get(slug) ?? 0
    counts.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  }
}

type AnyToken = Tokens.Generic

/** Returns the words of tokens without markup. */
function textOf(tokens: readonly AnyToken[] | undefined): string {
  return (tokens ?? [])
    .map((token) => {
      if (token.type === 'table') return [token.header, ...token.rows].flat().map(cellText).join(' ')
      if (token.type === 'list') return token.items.map(cellText).join(' ')
      if (token.tokens) return textOf(token.tokens)
      return token.type === 'html' || token.type === 'space' ? ' ' : (token.text ?? token.raw ?? '')
    })
    .join('')
}
const cellText = ({ tokens }: { tokens: AnyToken[] }): string => textOf(tokens)

/** Renders Markdown. The title of the file is left out, because the page has one of its own. */
export function renderMarkdown(source: string, link: (href: string) => string): RenderedPage {
  const slug = createSlugger()
  const headings: Heading[] = []
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth }) {
        const heading = headings[drawn++]
        const inner = this.parser.parseInline(tokens)
        if (depth === 1 || heading === undefined) return ''
        // A heading that is a link stays one: links do not nest.
        const title = inner.includes('<a ') ? inner : `<a class="anchor" href="#${heading.id}">${inner}</a>`
        return `<h${depth} id="${heading.id}">${title}</h${depth}>\n`
      },
      link({ href, tokens }) {
        return `<a href="${escapeHtml(link(href))}">${this.parser.parseInline(tokens)}</a>`
      },
      // The pictures of the dashboard are larger than the whole site.
      image: ({ href, text, tokens }) =>
        `<a href="${escapeHtml(link(href))}">Picture: ${escapeHtml(tokens ? textOf(tokens) : text)}</a>`,
      code: ({ text }) => `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>\n`,
      table({ header, rows }) {
        const cell = (name: 'th' | 'td') => (one: Tokens.TableCell) =>
          `<${name}${name === 'th' ? ' scope="col"' : ''}${one.align === 'right' ? ' class="number"' : ''}>${this.parser.parseInline(one.tokens)}</${name}>`
        const head = `<thead><tr>${header.map(cell('th')).join('')}</tr></thead>`
        const body = rows.map((row) => `<tr>${row.map(cell('td')).join('')}</tr>`).join('\n')
        return `<div class="table" tabindex="0" role="group" aria-label="Table"><table>${head}<tbody>\n${body}</tbody></table></div>\n`
      },
      html: ({ text }) => (text.startsWith('<!--') ? '' : escapeHtml(text)),
    },
  })
  let drawn = 0
  const tokens = marked.lexer(source)
  const parts: Part[] = [{ heading: undefined, text: '' }]
  for (const token of tokens)
    if (token.type === 'heading') {
      const heading = { level: token.depth, id: slug(textOf(token.tokens)), text: textOf(token.tokens) }
      headings.push(heading)
      parts.push({ heading: heading.level === 1 ? undefined : heading, text: '' })
    } else {
      const part = parts.at(-1)
      if (part) part.text += `${textOf([token])} `
    }
  const html = marked.parser(tokens)
  return { html, headings: headings.filter(({ level }) => level > 1), parts }
}
