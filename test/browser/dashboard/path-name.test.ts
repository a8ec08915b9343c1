import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'
import t from 'tap'
import { z } from 'zod'
import { shownPath as shownInTerminal } from '../../../src/base/shown-path.js'

/** The module as the dashboard's bundle has it: it imports nothing. */
const dir = mkdtempSync(join(tmpdir(), 'readership-paths-'))
const bundle = await rolldown({ input: resolve('src/browser/dashboard/state/path-name.ts') })
await bundle.write({ dir, format: 'esm', entryFileNames: 'path-name.mjs' })
await bundle.close()
const { shownPath, tailOf, shortPath } = z
  .object({
    shownPath: z.custom<(path: string) => string>(),
    tailOf: z.custom<(path: string) => string>(),
    shortPath: z.custom<(path: string, most: number) => string>(),
  })
  .parse({ ...(await import(pathToFileURL(join(dir, 'path-name.mjs')).href)) })

const PATHS: [path: string, shown: string, why: string][] = [
  ['/', '/', 'the front page'],
  ['/%E6%97%A5%E6%9C%AC%E8%AA%9E/%E8%A8%98%E4%BA%8B', '/日本語/記事', 'Japanese'],
  ['/%D7%A9%D7%9C%D7%95%D7%9D', '/שלום', 'Hebrew'],
  ['/stra%C3%9Fe/%C3%BCber-uns', '/straße/über-uns', 'German'],
  ['/%f0%9f%a6%86', '/🦆', 'four bytes, small digits'],
  ['/über', '/über', 'not encoded at all'],
  ['/my%20page', '/my page', 'a space between words'],
  ['/page%20', '/page%20', 'a space at the end'],
  ['/a%22b%3Cc%3E', '/a"b<c>', 'what browsers encode'],
  ['/a%2Fb', '/a%2Fb', 'a slash that separates nothing'],
  ['/100%25', '/100%25', 'a percent sign: 100% would be another path'],
  ['/%2525', '/%2525', 'encoded twice'],
  ['/a%3Fb%23c', '/a%3Fb%23c', 'no query and no fragment'],
  ['/%6Dembers', '/%6Dembers', 'a letter that no browser encodes: another path than /members'],
  ['/%2e%2e/x', '/%2e%2e/x', 'dots that no browser encodes'],
  ['/%00%0A%1B[31m', '/%00%0A%1B[31m', 'controls'],
  ['/%E2%80%AEexe.fdp', '/%E2%80%AEexe.fdp', 'an override of the direction'],
  ['/\u202eexe.fdp', '/%E2%80%AEexe.fdp', 'the same, not encoded'],
  ['/a\u200bb%C2%A0c', '/a%E2%80%8Bb%C2%A0c', 'spaces without width, and one that does not break'],
  ['/%FF%FE/%C3', '/%FF%FE/%C3', 'bytes that are no UTF-8'],
  ['/%C0%AF', '/%C0%AF', 'a slash in two bytes'],
  ['/%C3%BC%FF', '/ü%FF', 'a letter, then no UTF-8'],
  ['/%', '/%', 'half an escape'],
  ['/%zz', '/%zz', 'none'],
]

t.test('paths are decoded for people, and what is dangerous stays encoded', async (t) => {
  for (const [path, shown, why] of PATHS)
    t.same([shownPath(path), shownInTerminal(path)], [shown, shown], `${why}: in the dashboard, and in the terminal`)
})

t.test('the end of a path begins at a "-" or "/", and tells it apart', async (t) => {
  const rows: [path: string, tail: string, why: string][] = [
    ['/pricing', '/pricing', 'short'],
    ['/articles/fog-signals', '/fog-signals', 'the last part'],
    ['/articles/2026/11/fog-signals-of-the-north-sea-part-two', '-sea-part-two', 'a long last part'],
    ['/archive/2026/11/28/', '/2026/11/28/', 'a slash at the end'],
    [`/${'a'.repeat(60)}`, 'a'.repeat(10), 'nowhere to begin'],
  ]
  for (const [path, tail, why] of rows) t.equal(tailOf(path), tail, why)
  t.equal(
    shortPath('/articles/2026/11/fog-signals-of-the-north-sea-part-two', 40),
    '/articles/2026/11/fog-sign…-sea-part-two',
  )
  t.equal(shortPath('/pricing', 40), '/pricing')
})
