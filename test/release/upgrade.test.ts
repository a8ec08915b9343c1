import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { z } from 'zod'
import { loadConfig } from '../../src/app/config.js'
import { openInstance } from '../../src/app/instance/open-instance.js'
import { directory } from '../fixtures/files.js'
import { cli } from '../fixtures/instance.js'

/*
 * Opens what earlier releases stored. Each backup was written by the packed release of its name, after traffic that was counted
 * by hand: three people with 4, 2 and 1 pageviews, one of them from chatgpt.com; GPTBot with `/`, `/private/a`, which
 * robots.txt forbade, and a missing page; ClaudeBot with two pages. A release adds its own, and changes none.
 */

const FOLDER = 'test/release/backups'
const DAY = 'start=2026-11-28T00:00:00.000Z&end=2026-11-29T00:00:00.000Z'
const DISALLOWED = encodeURIComponent('[{"dimension":"robots_allowed","op":"is","value":false}]')
const EXPECTED = [
  ['stats/overview', { visitors: 3, sessions: 3, pageviews: 7 }, 'people'],
  ['agents/overview', { fetches: 5, agents: 2 }, 'agents'],
  [`agents/overview?filters=${DISALLOWED}`, { fetches: 1, agents: 1 }, 'the page that robots.txt forbade'],
] as const

for (const file of readdirSync(FOLDER)) {
  t.test(`this checkout opens ${file}`, async (t) => {
    const data = join(directory(t), 'restored')
    const { code, stderr } = await cli('restore', join(FOLDER, file), '--data', data)
    t.equal(code, 0, stderr)
    const lines: string[] = []
    const note = (_: object, message: string) => void lines.push(message)
    const config = loadConfig({ flags: { data, offline: true }, env: {}, read: () => undefined })
    const instance = await openInstance(config, { log: { info() {}, warn: note, error: note } })
    t.teardown(() => instance.close())
    const ask = async (path: string): Promise<unknown> => {
      const address = `http://localhost/api/${path}${path.includes('?') ? '&' : '?'}site=1&${DAY}`
      return z.object({ data: z.unknown() }).parse(await (await instance.control(new Request(address))).json()).data
    }
    for (const [path, expected, why] of EXPECTED) t.match(await ask(path), expected, why)
    t.match(await ask('stats/breakdown?dimension=pathname'), [{ value: '/', visitors: 3 }], 'pages')
    const sources = z
      .array(z.object({ value: z.string().nullish() }))
      .parse(await ask('stats/breakdown?dimension=source'))
    t.ok(
      sources.some(({ value }) => /ChatGPT/i.test(value ?? '')),
      'the source of a visit',
    )
    t.match(await (await instance.control(new Request('http://localhost/api/keys'))).json(), {
      data: [{ name: 'first' }],
    })
    t.same(lines, [], 'nothing to warn of')
  })
}
