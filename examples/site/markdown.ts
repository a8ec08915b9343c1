/** Renders the part of Markdown that the journal uses: headings, paragraphs, lists, quotes, tables, links, images. */
export function toHtml(markdown: string): string {
  return markdown
    .trim()
    .split(/\n{2,}/)
    .map(block)
    .join('\n')
}

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)

function block(text: string): string {
  const lines = text.split('\n')
  const items = (mark: RegExp) =>
    text
      .split(new RegExp(`^${mark.source}`, 'm'))
      .slice(1)
      .map((item) => `<li>${inline(item.trim())}</li>`)
      .join('')
  const heading = /^(#{2,4}) (.*)$/.exec(text)
  if (heading) return `<h${heading[1]?.length}>${inline(heading[2] ?? '')}</h${heading[1]?.length}>`
  if (/^- /.test(text)) return `<ul>${items(/- /)}</ul>`
  if (/^\d+\. /.test(text)) return `<ol>${items(/\d+\. /)}</ol>`
  if (text.startsWith('> ')) return `<blockquote>${inline(text.replace(/^> ?/gm, ''))}</blockquote>`
  if (text.startsWith('|')) return table(lines)
  return `<p>${inline(text)}</p>`
}

function table(lines: string[]): string {
  const cells = (line: string) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => inline(cell.trim()))
  const row = (line: string, tag: 'th' | 'td') =>
    `<tr>${cells(line)
      .map((cell) => `<${tag}>${cell}</${tag}>`)
      .join('')}</tr>`
  const [head = '', , ...body] = lines
  return `<table><thead>${row(head, 'th')}</thead><tbody>${body.map((line) => row(line, 'td')).join('')}</tbody></table>`
}

function inline(text: string): string {
  return escapeHtml(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/!\[([^\]]*)\]\(([^)\s]+)\)/g, '<img src="$2" alt="$1" loading="lazy">')
    .replace(/\[([^\]]+)\]\(([^)\s]+)\)/g, '<a href="$2">$1</a>')
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replace(/(?<!\w)_([^_]+)_(?!\w)/g, '<em>$1</em>')
}
