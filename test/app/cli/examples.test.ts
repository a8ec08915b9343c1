import { execFile } from 'node:child_process'
import { statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { COMMANDS } from '../../../src/app/cli/program.js'
import { command } from '../../fixtures/command.js'

const EXAMPLES = COMMANDS.flatMap(({ name, examples = [] }) => examples.map(({ line }) => ({ name, line })))
/** Output or file of each example, for the log below: a person read /docs/a, and GPTBot /docs/b. */
const EXPECTED: Readonly<Record<string, RegExp | string>> = {
  'report access.log': /1 pageview[\s\S]*GPTBot/,
  'report access.log --robots robots.txt': /Disallowed by robots\.txt, and fetched[\s\S]*GPTBot +2 /,
  'report access.log --output report.html': 'report.html',
  'import access.log --host www.example.com': /undo/,
  'import access.log --dry-run': /Would store 0 pageviews of people and 0 requests of agents/,
  'rules try rules.yaml --range 30d': /GPTBot/,
  'rules add rules.yaml': /Added rule 1, No GPTBot: rehearse/,
  'stats --range 7d': /1 person[\s\S]*1 fetch/,
  'stats --report pages --output pages.csv': 'pages.csv',
  'tail -n 20 --no-follow --audience agent': /\/docs\/b/,
  'tail -n 20 --no-follow --path /docs --json': /"pathname": ?"\/docs\/a"/,
  'export --table agents --output agents.parquet': 'agents.parquet',
  'backup readership.backup': 'readership.backup',
}

t.test(
  'the examples of --help run as shown, in the order of an owner who tries them',
  { timeout: 300_000 },
  async (t) => {
    const hour = new Date(Date.now() - 3_600_000).toUTCString()
    const time = hour.replace(/^..., (..) (...) (....) (.{8}).*/, '$1/$2/$3:$4 +0000')
    const line = (path: string, agent: string) =>
      `192.0.2.7 - - [${time}] "GET ${path} HTTP/1.1" 200 99 "-" "${agent}"\n`
    const chrome =
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
    const cwd = t.testdir({ 'robots.txt': 'User-agent: *\nDisallow: /docs/b\n' })
    writeFileSync(join(cwd, 'rules.yaml'), 'name: No GPTBot\nagents: [gptbot]\naction: block\n')
    writeFileSync(join(cwd, 'access.log'), line('/docs/a', chrome) + line('/docs/b', 'GPTBot/1.3'))
    t.same(EXAMPLES.map(({ line }) => line).sort(), Object.keys(EXPECTED).sort(), 'each has a result here')
    for (const example of Object.keys(EXPECTED)) {
      const args = [resolve('dist/bin/readership.js'), ...example.split(' ')]
      const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd })
      const expected = EXPECTED[example]
      if (typeof expected === 'string') t.ok(statSync(join(cwd, expected)).size > 0, `${example} writes ${expected}`)
      else if (expected) t.match(stdout + stderr, expected, example)
    }
  },
)

t.test('--help ends with the examples', async (t) => {
  for (const { name, line } of EXAMPLES) {
    const { stdout } = await command(...name.split(' '), '--help')
    t.ok(stdout.slice(stdout.indexOf('\nExamples:\n')).includes(`\n  readership ${line}\n`), line)
  }
})
