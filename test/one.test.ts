import { execFile } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { directory } from './fixtures/files.js'

/** The files of a clone; folders that are not needed to run a test are left out. */
const TREE = ['package.json', 'src', 'bin', 'adapters', 'examples', 'test']

t.test('the first command of the README runs one file of tests in a clone that was never built', async (t) => {
  const command = /```sh\n(.+)\n```/.exec(readFileSync('test/README.md', 'utf8'))?.[1]?.split(' ') ?? []
  t.match(command, ['npm', 'run', 'test:one', /^test\//])
  const clone = directory(t)
  for (const name of TREE) cpSync(name, join(clone, name), { recursive: true })
  symlinkSync(resolve('node_modules'), join(clone, 'node_modules'))
  const { stdout } = await promisify(execFile)('npm', command.slice(1), { cwd: clone })
  t.match(stdout, /^ok 9 - /m)
  t.notMatch(stdout, /^ *not ok /m)
  t.match(stdout, `passed: ${command[3]}`)
  const wrong = promisify(execFile)('npm', ['run', 'test:one', 'test/analytics'], { cwd: clone })
  await t.rejects(wrong, { code: 2, stderr: /test\/analytics: not a file test\/….test.ts/ })
})
