import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { z } from 'zod'

const script = readFileSync('dist/src/browser/tracker/script.js', 'utf8')

t.test('the whole tracker is at most 2,520 bytes of gzip', async (t) => {
  const size = gzipSync(script, { level: 9 }).length
  t.ok(size <= 2520, `${size} bytes, ${script.length} as they are`)
})

t.test('the tracker reports the version of the package', async (t) => {
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync('package.json', 'utf8')))
  t.ok(script.includes(`"${version}"`), 'src/browser/tracker/version.ts and package.json agree')
})

t.test('the script defines nothing but window.readership', async (t) => {
  t.notMatch(script, /sessionStorage|indexedDB|XMLHttpRequest|eval\b|import\(/)
  t.match(script, /document\.cookie=`\$\{\w+\}=1;path=/, 'the opt-out; none is read')
  t.equal(script.match(/cookie/g)?.length, 1)
  t.notMatch(script, /\?\.|\?\?|catch\{/, 'nothing that a browser of 2018 cannot read')
})
