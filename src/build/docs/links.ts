import { existsSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import type { DocsPage } from './chapters.js'

/** Returns the address of a page from any other page. */
export const hrefOf = ({ name }: DocsPage): string => (name === 'index' ? './' : `${name}.html`)

/**
 * Returns a function that turns a link of a Markdown file into one of the site: to a page if the file is one, otherwise to
 * the file in the repository. Absolute links to the repository's files are treated as relative ones.
 */
export function createLinker(pages: readonly DocsPage[], repository: string) {
  const byFile = new Map(pages.map((page) => [page.file, page]))
  const ownFile = new RegExp(`^${repository.replaceAll('.', '\\.')}/(?:blob|tree|raw)/(?:main|HEAD)/`)
  return (from: string, link: string): string => {
    const isOwn = ownFile.test(link)
    if (link.startsWith('#') || (!isOwn && /^[a-z][\w+.-]*:/i.test(link))) return link
    const [path = '', anchor] = link.replace(ownFile, '').split('#')
    const file = posix.normalize(isOwn ? path : posix.join(posix.dirname(from), path)).replace(/\/$/, '')
    const page = byFile.get(file) ?? byFile.get(posix.join(file, 'README.md'))
    const end = anchor === undefined ? '' : `#${anchor}`
    if (page) return page.file === from && end !== '' ? end : hrefOf(page) + end
    const kind = existsSync(file) && statSync(file).isDirectory() ? 'tree' : 'blob'
    return `${repository}/${kind}/main/${file}${end}`
  }
}
