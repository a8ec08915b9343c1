import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { runProgram } from '../../../src/app/cli/index.js'
import type { Terminal } from '../../../src/app/cli/terminal.js'
import { command, createTerminal } from '../../fixtures/command.js'
import { eventually } from '../../fixtures/instance.js'

const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const GPTBOT = 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)'
const line = (path: string, agent: string, day = 21): string =>
  `192.0.2.1 - - [${day}/Nov/2026:10:00:00 +0000] "GET ${path} HTTP/1.1" 200 10 "-" "${agent}"\n`

/** The report says why it chose a format: the following knew fewer lines then. */
const COMBINED = ['--log-format', 'combined']

/** Runs `report --follow` on a terminal that keeps what is printed; `stop` is Ctrl-C. */
function follow(args: readonly string[], size: Pick<Terminal, 'columns' | 'rows'>) {
  const { output, terminal } = createTerminal()
  let stop = () => {}
  const onSignal: Terminal['onSignal'] = (name, listener) => {
    if (name === 'SIGINT') stop = listener
  }
  const code = runProgram(['report', ...args, '--follow'], { ...terminal, ...size, onSignal })
  return { code, output, stop: () => stop() }
}

t.test('a terminal shows what is appended, also after a rotation, and everything after Ctrl-C', async (t) => {
  const folder = t.testdir({ 'access.log': line('/first', CHROME) })
  const file = join(folder, 'access.log')
  const older = join(folder, 'access.log.1.gz')
  writeFileSync(older, gzipSync(line('/older', GPTBOT, 20)))
  const { code, output, stop } = follow([file, older], { columns: 80, rows: 20 })
  await eventually('/first is shown', () => output.stdout.includes('/first'))
  appendFileSync(file, line('/second', CHROME))
  await eventually('/second is shown', () => output.stdout.includes('/second'))
  renameSync(file, `${file}.1`)
  writeFileSync(file, line('/third', CHROME))
  await eventually('/third is shown', () => output.stdout.includes('/third'))
  const screens = output.stdout.split('\u001b[H').slice(1)
  for (const screen of screens) t.equal(screen.split('\n').length, 20, 'a screen fills the terminal and no more')
  t.match(screens.at(-1), /Ctrl-C ends it and prints everything\. Follows \//)
  stop()
  t.equal(await code, 0, output.stderr)
  const [, last = ''] = output.stdout.split('\u001b[?1049l')
  for (const text of ['3 pageviews', '1 request', 'GPTBot', '/third', 'Hours of the day'])
    t.ok(last.includes(text), `${text} is in the report after Ctrl-C`)
})

t.test('files are written again, and at the end they are what a report of the whole log is', async (t) => {
  const folder = t.testdir({ 'access.log': line('/first', CHROME) })
  const [file, page, json] = ['access.log', 'report.html', 'report.json'].map((name) => join(folder, name))
  const { code, stop, output } = follow([`${file}`, ...COMBINED, '--html', `${page}`, '--output', `${json}`], {})
  const written = () => {
    try {
      return readFileSync(`${page}`, 'utf8')
    } catch {
      return ''
    }
  }
  await eventually('/first is shown', () => written().includes('/first'))
  t.match(written(), /http-equiv="refresh" content="10"/, 'an open page loads itself')
  appendFileSync(`${file}`, line('/second', GPTBOT))
  await eventually('/second is shown', () => written().includes('/second'))
  appendFileSync(`${file}`, line('/late', CHROME))
  await eventually('/late is shown', () => written().includes('/late'))
  stop()
  t.equal(await code, 0, output.stderr)
  const whole = JSON.parse((await command('report', `${file}`, ...COMBINED, '--json')).stdout)
  t.same(JSON.parse(readFileSync(`${json}`, 'utf8')), whole)
  t.notMatch(output.stdout, '\u001b', 'a pipe gets no screens')
  await command('report', `${file}`, '--html', `${page}`)
  t.notMatch(written(), /http-equiv="refresh"/, 'a page that is made once does not load itself')
})

t.test('what cannot be followed or shown is said', async (t) => {
  const folder = t.testdir({ 'access.log': line('/', CHROME), 'empty.log': '' })
  const [file, empty, packed] = ['access.log', 'empty.log', 'access.log.1.gz'].map((name) => join(folder, name))
  writeFileSync(`${packed}`, gzipSync(line('/', CHROME)))
  const cases: [string[], RegExp, string][] = [
    [[`${file}`], /needs a file: --output FILE/, 'a pipe without a file'],
    [[`${file}`, '--json'], /prints no JSON/, 'one JSON document has one end'],
    [[`${file}`, '--html', '-'], /prints no JSON, HTML or CSV/, 'nor has a page'],
    [[`${packed}`, '--output', `${file}.html`], /cannot grow/, 'a compressed log'],
    [[`${empty}`, '--output', `${file}.html`], /no request yet.*--log-format/, 'a log without a format'],
  ]
  for (const [args, message, why] of cases)
    t.match(await command('report', ...args, '--follow'), { code: 2, stderr: message }, why)
})
