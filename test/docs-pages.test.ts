import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { zipSync } from 'fflate'
import t from 'tap'
import { command } from './fixtures/command.js'
import { directory } from './fixtures/files.js'
import { CHROME, freePort, startOrigin, startProxy } from './fixtures/instance.js'

const EXPORTS = 'test/fixtures/exports'

/** Returns the commands of a page's blocks, without `npx readership`. */
const commandsOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) =>
    block.split('\n').flatMap((line) => (line.startsWith('npx readership ') ? [line.slice(15)] : [])),
  )

t.test('the commands of src/docs/coming-from.md', async (t) => {
  const folder = directory(t)
  const zip = { 'imported_visitors.csv': readFileSync(`${EXPORTS}/plausible-imported_visitors.csv`) }
  writeFileSync(join(folder, 'plausible-export.zip'), zipSync(zip))
  copyFileSync(`${EXPORTS}/umami-pg_dump.sql`, join(folder, 'umami-dump.sql'))
  copyFileSync(`${EXPORTS}/matomo-api-get.csv`, join(folder, 'matomo-api-get.csv'))
  const line = `192.0.2.7 - - [02/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 99 "-" "${CHROME}"\n`
  writeFileSync(join(folder, 'access.log'), line.repeat(2))
  const logged = {
    ...{ ClientIP: '192.0.2.8', ClientRequestMethod: 'GET', ClientRequestURI: '/b', EdgeResponseStatus: 200 },
    ...{
      EdgeStartTimestamp: '2026-11-02T11:00:00Z',
      ClientRequestUserAgent: CHROME,
      ClientRequestHost: 'www.example.com',
    },
  }
  writeFileSync(join(folder, 'logpush.ndjson'), `${JSON.stringify(logged)}\n`)
  const data = join(folder, 'data')
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const app = await startProxy({ origin: origin.url, data, port: await freePort(), adminPort: await freePort() })
  t.teardown(() => app.stop())
  const expected: [start: string, prints: RegExp][] = [
    ['history add plausible-export.zip', /Added 21 days/],
    ['history add umami-dump.sql', /Added \d+ days?/],
    ['history add matomo-api-get.csv', /Added \d+ days/],
    ['report access.log', /\/a/],
    ['import access.log', /\b2\b/],
    ['import logpush.ndjson', /Cloudflare/],
  ]
  for (const line of commandsOf('src/docs/coming-from.md')) {
    const [start, prints] = expected.find(([start]) => line.startsWith(start)) ?? []
    if (start === undefined || prints === undefined) {
      t.fail(`${line}: say above what it prints`)
      continue
    }
    const words = line
      .split(' ')
      .map((word) => (/\.(?:zip|sql|csv|log|ndjson)$/.test(word) ? join(folder, word) : word))
    const ran = await command(...words, ...(start.startsWith('report') ? [] : ['--data', data]))
    t.equal(ran.code, 0, `${line}: ${ran.stderr}`)
    t.match(ran.stdout + ran.stderr, prints, line)
  }
})
