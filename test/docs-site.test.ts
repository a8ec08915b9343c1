import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import MiniSearch from 'minisearch'
import t from 'tap'
import { INDEX_OPTIONS, type Section } from '../src/browser/docs/index-options.js'
import { LEFT_OUT, listPages } from '../src/build/docs/chapters.js'
import { createLinker } from '../src/build/docs/links.js'
import { renderMarkdown } from '../src/build/docs/markdown.js'
import { DOCUMENTS } from './fixtures/documents.js'

const FOLDER = 'dist/docs'
const REPOSITORY = 'https://github.com/readership/readership'
/** Addresses of the service beside the site. */
const SERVICE = ['../', '../api/docs', '../favicon.svg']

const PAGES = listPages()
const htmlOf = new Map(
  readdirSync(FOLDER)
    .filter((name) => name.endsWith('.html'))
    .map((name) => [name, readFileSync(`${FOLDER}/${name}`, 'utf8')]),
)
const matches = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found)
const idsOf = (html: string) => matches(html, /\sid="([^"]+)"/g)

/** Returns why a link leads nowhere, and undefined if it leads somewhere. */
function faultOfLink(from: string, link: string): string | undefined {
  const [address = '', anchor] = link.split('#')
  if (SERVICE.includes(address) && anchor === undefined) return undefined
  const [, kind, file] = new RegExp(`^${REPOSITORY}/(blob|tree)/main/(.+)$`).exec(address) ?? []
  if (file !== undefined) {
    if (!existsSync(file) || statSync(file).isDirectory() !== (kind === 'tree')) return 'no such file'
    const { headings } = renderMarkdown(readFileSync(file, 'utf8'), (href) => href)
    return anchor === undefined || headings.some(({ id }) => id === anchor) ? undefined : 'no such heading'
  }
  if (/^https:\/\/|^mailto:/.test(address)) return undefined
  const name = address === '' ? from : address === './' ? 'index.html' : address
  const html = htmlOf.get(name)
  if (html === undefined) return existsSync(`${FOLDER}/${name}`) ? undefined : 'no such page'
  return anchor === undefined || idsOf(html).includes(anchor) ? undefined : 'no such anchor'
}

t.test('every link of every page leads to a page and anchor of the site, or to a file of the repository', async (t) => {
  let checked = 0
  for (const [from, html] of htmlOf)
    for (const link of matches(html, /\s(?:href|src|data-index)="([^"]*)"/g)) {
      const fault = faultOfLink(from, link.replaceAll('&amp;', '&'))
      if (fault !== undefined) t.fail(`${from}: ${link}: ${fault}`)
      checked += 1
    }
  t.ok(checked > 1_000, `${checked} links`)
  t.equal(faultOfLink('index.html', 'no-page.html'), 'no such page')
  t.equal(faultOfLink('index.html', 'agents.html#no-anchor'), 'no such anchor')
  t.equal(faultOfLink('index.html', `${REPOSITORY}/blob/main/no-file.ts`), 'no such file')
  t.equal(faultOfLink('index.html', `${REPOSITORY}/blob/main/src`), 'no such file', 'a folder is no file')
  t.equal(faultOfLink('index.html', `${REPOSITORY}/blob/main/src/README.md#no-heading`), 'no such heading')
})

t.test('every Markdown file is a page, or left out for a reason', async (t) => {
  const files = [...DOCUMENTS, 'adapters/README.md'].sort()
  const listed = PAGES.map(({ file }) => file)
  for (const file of files)
    t.ok(listed.includes(file) !== file in LEFT_OUT, `${file}: list it once, in CHAPTERS or in LEFT_OUT`)
  for (const file of Object.keys(LEFT_OUT)) t.ok(existsSync(file), `${file} exists`)
  t.equal(new Set(PAGES.map(({ name }) => name)).size, PAGES.length, 'no name twice')
  t.same([...htmlOf.keys()].sort(), PAGES.map(({ name }) => `${name}.html`).sort(), 'the build has these pages')
})

t.test('links of Markdown become addresses of the site or of the repository', async (t) => {
  const link = createLinker(PAGES, REPOSITORY)
  const rows: [from: string, link: string, address: string, why: string][] = [
    ['README.md', 'src/agents/README.md', 'agents.html', 'a page'],
    ['src/api/README.md', '../../README.md#try-it', './#try-it', 'the start, with an anchor'],
    ['src/agents/README.md', 'policy/README.md#a', 'policy.html#a', 'a folder below'],
    ['src/agents/README.md', 'policy', 'policy.html', 'a folder that has a page'],
    ['src/agents/README.md', 'README.md#ranges', '#ranges', 'the page itself'],
    ['src/agents/README.md', '#ranges', '#ranges', 'an anchor alone'],
    ['src/agents/README.md', 'catalog.json', `${REPOSITORY}/blob/main/src/agents/catalog.json`, 'another file'],
    ['src/agents/README.md', 'signature/', `${REPOSITORY}/tree/main/src/agents/signature`, 'a folder'],
    ['README.md', `${REPOSITORY}/blob/main/src/api/README.md#errors`, 'api.html#errors', 'an absolute link to a page'],
    ['README.md', `${REPOSITORY}/blob/main/LICENSE`, `${REPOSITORY}/blob/main/LICENSE`, 'an absolute link to a file'],
    ['README.md', 'https://duckdb.org/a#b', 'https://duckdb.org/a#b', 'elsewhere'],
  ]
  for (const [from, to, address, why] of rows) t.equal(link(from, to), address, why)
})

t.test('Markdown is drawn without the markup of a page in it', async (t) => {
  const { html, headings, parts } = renderMarkdown(
    '# src/a: a title\n\nOne <script>alert(1)</script>.\n\n## `a` & b\n\n<!-- c -->\n| x | y |\n|---|--:|\n| `<i>` | 2 |\n\n## A-B (c)\n\n## [D](d.md)\n\n## `a` & b\n\n```sh\necho "<b>"\n```\n\n![A *p*](p.png)\n',
    (href) => `to:${href}`,
  )
  t.notMatch(html, /<script|<b>|<i>|<!--|<h1|<img/)
  t.match(html, '<pre tabindex="0"><code>echo &quot;&lt;b&gt;&quot;</code></pre>')
  t.match(html, '<a href="to:p.png">Picture: A p</a>', 'a picture is a link')
  t.match(html, /<td class="number">2<\/td>/)
  t.match(html, '<h2 id="d"><a href="to:d.md">D</a></h2>', 'links do not nest')
  t.same(
    headings.map(({ id }) => id),
    ['a--b', 'a-b-c', 'd', 'a--b-1'],
    "GitHub's anchors",
  )
  t.match(parts[2]?.text, /x y <i> 2/, 'the text of a table')
})

t.test('the search index finds sections, also by the beginning of a word or with a wrong letter', async (t) => {
  const [file = ''] = readdirSync(`${FOLDER}/assets`).filter((name) => name.endsWith('.json.gz'))
  const packed = gunzipSync(readFileSync(`${FOLDER}/assets/${file}`)).toString()
  const index = MiniSearch.loadJSON<Section>(packed, INDEX_OPTIONS)
  const rows = [
    ['backup each night', 'backup.html#each-night'],
    ['web bot auth', 'agents.html#web-bot-auth'],
    ['verifcation stat', 'agents.html#verification-statuses'],
    ['exit codes', 'cli.html#exit-codes'],
    ['roles', 'api.html#roles-and-scopes'],
  ]
  for (const [words = '', href] of rows) t.equal(index.search(words)[0]?.href, href, words)
  t.same(index.search('the of a'), [], 'words of every section find none')
  for (const name of new Set(matches(packed, /"href":"([^"]+)"/g)))
    t.equal(faultOfLink('index.html', name), undefined, name)
})

t.test('the site is small', async (t) => {
  const files = readdirSync(FOLDER, { recursive: true, withFileTypes: true }).filter(
    (one) => one.isFile() && !one.name.endsWith('.br'),
  )
  const bytes = files.reduce((sum, one) => sum + statSync(`${one.parentPath}/${one.name}`).size, 0)
  t.ok(bytes <= 1_000_000, `${bytes} bytes, at most 1,000,000`)
  t.ok(existsSync(`${FOLDER}/LICENSES.txt`), 'the licence of the search is beside it')
})
