import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import MiniSearch from 'minisearch'
import { rolldown } from 'rolldown'
import { z } from 'zod'
import { INDEX_OPTIONS, type Section } from '../../browser/docs/index-options.js'
import { compress } from '../files.js'
import { listLicences } from '../licences.js'
import { type DocsPage, SCRIPTS, TARGET, TOKENS } from './chapters.js'
import { drawPage } from './frame.js'
import { createLinker, hrefOf } from './links.js'
import { type RenderedPage, renderMarkdown } from './markdown.js'

/** Characters of a section that a search result shows. */
const START_LENGTH = 110

const Package = z.object({ version: z.string(), repository: z.object({ url: z.string() }) })

/** Writes the documentation site of these pages into an empty folder. */
export async function writeSite(pages: readonly DocsPage[]): Promise<void> {
  rmSync(TARGET, { recursive: true, force: true })
  mkdirSync(`${TARGET}/assets`, { recursive: true })
  const { version, repository } = Package.parse(JSON.parse(readFileSync('package.json', 'utf8')))
  const address = repository.url.replace(/^git\+|\.git$/g, '')
  const link = createLinker(pages, address)
  const rendered = pages.map((page) => ({
    page,
    content: renderMarkdown(readFileSync(page.file, 'utf8'), (href) => link(page.file, href)),
  }))
  const index = new MiniSearch<Section>(INDEX_OPTIONS)
  index.addAll(rendered.flatMap(({ page, content }) => sectionsOf(page, content)).map((one, id) => ({ ...one, id })))
  const style = readFileSync(TOKENS, 'utf8') + readFileSync(join(SCRIPTS, 'docs.css'), 'utf8')
  const assets = {
    style: writeAsset('docs.css', style.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\s*\n\s*/g, '')),
    theme: writeAsset('theme.js', await bundle('theme')),
    search: writeAsset('search.js', await bundle('search')),
    // Unpacked by the script, so that the package needs no copy that is not compressed: that has 220 KB.
    index: writeAsset('search.json.gz', gzipSync(JSON.stringify(index), { level: 9 })),
  }
  const sourceOf = ({ file }: DocsPage) => `${address}/blob/main/${file}`
  for (const { page, content } of rendered) {
    const file = `${TARGET}/${page.name}.html`
    writeFileSync(file, drawPage(page, content, { pages, assets, version, sourceOf }))
    compress(file)
  }
}

/** Writes a file whose name has the hash of its content, and returns its address from a page. */
function writeAsset(name: string, content: string | Buffer): string {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 8)
  const path = `assets/${name.replace('.', `-${hash}.`)}`
  writeFileSync(`${TARGET}/${path}`, content)
  return path
}

/** Bundles a script of the pages. Writes the licences of the packages in it beside the pages. */
async function bundle(name: string): Promise<string> {
  const bundled = await rolldown({
    input: `${SCRIPTS}/${name}.ts`,
    platform: 'browser',
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    plugins: [listLicences('LICENSES.txt')],
    logLevel: 'warn',
  })
  const { output } = await bundled.generate({ format: name === 'theme' ? 'iife' : 'es', minify: true })
  await bundled.close()
  for (const file of output)
    if (file.type === 'asset' && name === 'search') writeFileSync(`${TARGET}/${file.fileName}`, file.source)
  return output[0].code
}

/** Returns what the index has of a page: one section for each heading, and one for the text before the first. */
const sectionsOf = (page: DocsPage, { parts }: RenderedPage): Omit<Section, 'id'>[] =>
  parts
    .map(({ heading, text }) => ({ heading, text: text.replace(/\s+/g, ' ').trim() }))
    .filter(({ heading, text }) => heading !== undefined || text !== '')
    .map(({ heading, text }) => ({
      page: page.title,
      title: heading?.text ?? page.title,
      href: heading === undefined ? hrefOf(page) : `${page.name === 'index' ? './' : hrefOf(page)}#${heading.id}`,
      text,
      start: text.length > START_LENGTH ? `${text.slice(0, START_LENGTH).replace(/ \S*$/, '')} …` : text,
    }))
