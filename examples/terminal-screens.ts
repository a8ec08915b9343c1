// Writes the screens of the terminal into examples/screenshots, at 80 and 160 columns, from a running demo:
// npm start, and in another terminal: node dist/examples/terminal-screens.js readership-demo
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram, type Terminal } from '../src/app/cli/index.js'
import { createDice, createRandom } from './dice.js'

const [data = 'readership-demo', folder = 'examples/screenshots'] = process.argv.slice(2)

const PEOPLE = [
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1',
]
const AGENTS = [
  'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)',
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'Mozilla/5.0 (compatible; ClaudeBot/1.0; +claudebot@anthropic.com)',
  'Mozilla/5.0; compatible; ChatGPT-User/1.0; +https://openai.com/bot',
]
const PAGES = ['/', '/pricing', '/almanac/2026/spring-tides', '/journal/how-radio-came-to-the-harbour', '/proofs/7']
const ASSETS = ['/app.css', '/app.js', '/img/harbour.webp']
const SITE = 'https://tide.example/'
const REFERRERS = ['-', SITE, 'https://www.google.com/', 'https://news.ycombinator.com/', 'https://chatgpt.com/']
const NETWORKS = [2, 5, 24, 81, 91, 133, 177]

/** Returns the lines of an access log of a day, the same ones each time. */
function makeAccessLog(): string {
  const dice = createDice(createRandom(4))
  return Array.from({ length: 4_000 }, (_, i) => {
    const time = new Date(Date.UTC(2026, 10, 21) + i * 21_000).toISOString().slice(11, 19)
    const isAgent = dice.random() < 0.3
    const isAsset = !isAgent && dice.random() < 0.5
    const isGone = dice.random() < 0.05
    const path = isGone ? '/old-page' : isAsset ? dice.pick(ASSETS) : dice.popular(PAGES)
    const referrer = isAgent ? '-' : isAsset ? SITE : dice.pick(REFERRERS)
    const address = `${dice.pick(NETWORKS)}.${dice.integer(200)}.${dice.integer(9)}.1`
    const [status, bytes] = isGone ? [404, 300] : [200, 2_000 + dice.integer(40_000)]
    const agent = dice.pick(isAgent ? AGENTS : PEOPLE)
    return `${address} - - [21/Nov/2026:${time} +0000] "GET ${path} HTTP/1.1" ${status} ${bytes} "${referrer}" "${agent}"\n`
  }).join('')
}

const logs = mkdtempSync(join(tmpdir(), 'screens-'))
try {
  const [log, robots] = [join(logs, 'access.log'), join(logs, 'robots.txt')]
  writeFileSync(log, makeAccessLog())
  writeFileSync(robots, 'User-agent: *\nDisallow: /proofs\n')
  const screens: readonly [name: string, args: readonly string[]][] = [
    ['tail', ['tail', '-n', '20', '--no-follow', '--data', data]],
    ['stats', ['stats', '--data', data]],
    ['status', ['status', '--data', data]],
    ['report', ['report', log, '--robots', robots]],
  ]
  mkdirSync(folder, { recursive: true })
  for (const columns of [80, 160])
    for (const [name, args] of screens) {
      let text = ''
      const terminal: Terminal = {
        out: (part) => {
          text += part
        },
        err: (part) => process.stderr.write(part),
        columns,
        colour: false,
        version: '0.1.0',
        pid: process.pid,
        env: {},
        onSignal: () => {},
        onUncaughtError: () => {},
        exit: (code) => process.exit(code),
      }
      const code = await runProgram(args, terminal)
      if (code !== 0) throw new Error(`readership ${args.join(' ')} ended with ${code}`)
      // The place of the log is another one each time.
      writeFileSync(join(folder, `${name}-${columns}.txt`), text.replaceAll(`${logs}/`, ''))
    }
} finally {
  rmSync(logs, { recursive: true })
}
