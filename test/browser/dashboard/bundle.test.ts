import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import t from 'tap'

const FOLDER = 'dist/dashboard/assets'
const sizes = new Map(readdirSync(FOLDER).map((name) => [name, gzipSync(readFileSync(`${FOLDER}/${name}`)).length]))
const source = (name: string) => readFileSync(`${FOLDER}/${name}`, 'utf8')

/** The scripts that a script imports statically, and those that they import. */
function closure(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found
  found.add(name)
  for (const [, imported] of source(name).matchAll(/(?:from|^import|;import)\s*["']\.\/([\w.-]+\.js)["']/g))
    if (imported) closure(imported, found)
  return found
}
const sum = (names: Iterable<string>) => [...names].reduce((total, name) => total + (sizes.get(name) ?? 0), 0)
const find = (pattern: RegExp) => [...sizes.keys()].filter((name) => pattern.test(name))

t.test('the first view is small', async (t) => {
  const page = readFileSync('dist/dashboard/index.html', 'utf8')
  const entry = /src="\.\/assets\/([\w.-]+\.js)"/.exec(page)?.[1] ?? ''
  const scripts = [entry, ...find(/^overview-.*\.js$/)].reduce((all, name) => closure(name, all), new Set<string>())
  const styles = [...page.matchAll(/href="\.\/assets\/([\w.-]+\.css)"/g)].map((match) => match[1] ?? '')
  t.ok(scripts.size > 1, 'the shell and the overview')
  const bytes = sum(scripts) + sum(styles)
  t.ok(bytes <= 122_000, `scripts and styles of the first view: ${bytes} bytes with gzip, at most 122,000`)
  t.ok(sum(styles) <= 12_000, `styles: ${sum(styles)} bytes with gzip, at most 12,000`)
  for (const name of scripts) t.notMatch(source(name), /world-atlas|countries-110m|Arcs/, `${name} has no map`)
})

t.test('the page names nothing beyond the instance and has no script of its own', async (t) => {
  const page = readFileSync('dist/dashboard/index.html', 'utf8')
  t.notMatch(page, /https?:\/\//)
  t.notMatch(page, /<script(?![^>]*\bsrc=)/)
  t.notMatch(page, /<style|style=|\son\w+=/)
})

t.test('each warning of the reads has German words', async (t) => {
  // Warnings with words of their own, such as gaps, and those about what no view shows.
  const apart = [
    'audience_fixed',
    'not_for_audience',
    'not_recorded',
    'no_such_value',
    'no_counted_pages',
    'window_fixed',
    'comparison_fixed',
  ]
  const files = ['src/analytics/reads', 'src/analytics/query'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  )
  const code = files.filter((name) => name.endsWith('.ts')).map((name) => readFileSync(name, 'utf8'))
  const codes = code.flatMap((text) => [...text.matchAll(/(?:\bcode: |\bwarn\()'([a-z_]+)'/g)].map(([, name]) => name))
  const german = /\n {2}warning: \{\n([\s\S]*?)\n {2}\}/.exec(
    readFileSync('src/browser/dashboard/texts/de/parts.ts', 'utf8'),
  )
  const known = [...(german?.[1] ?? '').matchAll(/^ {4}(\w+):/gm)].map(([, name]) => name)
  t.ok(codes.length > 10, `${codes.length} codes are found`)
  t.same(
    [...new Set(codes)].filter((name) => name && !apart.includes(name) && !known.includes(name)),
    [],
  )
})
