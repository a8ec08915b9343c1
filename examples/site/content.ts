import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** One text of the journal. */
export interface Text {
  /** The URL's path, e.g. `/articles/slack-water`. */
  path: string
  title: string
  summary: string
  date: Date
  /** Markdown, without the front matter. */
  body: string
  author?: string
  issue?: number
  /** Name of its picture in `public/img`. */
  plate?: string
}

/** Returns the folder of texts and files. They are not compiled, so the search goes upwards from the running code. */
export function findSiteFolder(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const site = join(folder, 'examples/site')
    if (existsSync(join(site, 'content'))) return site
    if (folder === dirname(folder)) throw new Error('examples/site/content is missing')
  }
}

/** Reads all texts, newest first, then by path. */
export function readTexts(folder: string): Text[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => parse(`/${file.replaceAll('\\', '/').slice(0, -3)}`, readFileSync(join(folder, file), 'utf8')))
    .sort((a, b) => b.date.getTime() - a.date.getTime() || (a.path < b.path ? -1 : 1))
}

function parse(path: string, source: string): Text {
  const end = source.indexOf('\n\n')
  const fields = new Map(
    source
      .slice(0, end)
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as const),
  )
  const need = (name: string) => {
    const value = fields.get(name)
    if (!value) throw new Error(`${path}: no ${name}`)
    return value
  }
  const author = fields.get('author')
  const issue = fields.get('issue')
  const plate = fields.get('plate')
  return {
    path,
    title: need('title'),
    summary: need('summary'),
    date: new Date(need('date')),
    body: source.slice(end).trim(),
    ...(author ? { author } : {}),
    ...(issue ? { issue: Number(issue) } : {}),
    ...(plate ? { plate } : {}),
  }
}
