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
  t.ok(bytes <= 120_000, `scripts and styles of the first view: ${bytes} bytes with gzip, at most 120,000`)
  t.ok(sum(styles) <= 12_000, `styles: ${sum(styles)} bytes with gzip, at most 12,000`)
  for (const name of scripts) t.notMatch(source(name), /world-atlas|countries-110m|Arcs/, `${name} has no map`)
})

t.test('the page names nothing beyond the instance and has no script of its own', async (t) => {
  const page = readFileSync('dist/dashboard/index.html', 'utf8')
  t.notMatch(page, /https?:\/\//)
  t.notMatch(page, /<script(?![^>]*\bsrc=)/)
  t.notMatch(page, /<style|style=|\son\w+=/)
})
