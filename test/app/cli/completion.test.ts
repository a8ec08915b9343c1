import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { COMMANDS } from '../../../src/app/cli/program.js'
import { command } from '../../fixtures/command.js'

t.test('bash completes commands, groups and flags', async (t) => {
  const { code, stdout } = await command('completion', 'bash')
  t.equal(code, 0)
  const file = join(t.testdir(), 'readership.bash')
  writeFileSync(file, stdout)
  execFileSync('bash', ['-n', file])
  const complete = (line: string): string[] => {
    const words = line.split(' ')
    const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _readership; printf '%s\\n' "\${COMPREPLY[@]}"`
    return execFileSync('bash', ['--norc', '-c', script, 'bash', file, ...words], { encoding: 'utf8' })
      .split('\n')
      .filter(Boolean)
  }
  const rows: [line: string, expected: string[], why: string][] = [
    ['readership sta', ['stats', 'status'], 'commands that begin so'],
    ['readership keys ', ['create', 'list', 'revoke'], 'a group'],
    ['readership agents r', ['reclassify', 'refresh'], 'a command that has commands'],
    ['readership tail --no', ['--no-follow'], 'a flag'],
    ['readership tail --path /x --no', ['--no-follow'], 'after a value'],
    ['readership keys create --na', ['--name'], 'a flag of a command in a group'],
    ['readership completion z', ['zsh'], 'an argument that is one of a few'],
    ['readership nosuch --', [], 'no such command'],
  ]
  for (const [line, expected, why] of rows) t.same(complete(line), expected, why)
  const first = new Set(COMMANDS.map(({ name }) => name.split(' ')[0] ?? ''))
  t.same(complete('readership ').sort(), [...first].sort(), 'every command')
  for (const { name } of COMMANDS) t.ok(complete(`readership ${name} --he`).includes('--help'), name)
})

// Checks quotes and names only: neither shell is installed where the tests run, so no shell reads the scripts here.
t.test('zsh and fish get the same commands, with closed quotes', async (t) => {
  for (const shell of ['zsh', 'fish']) {
    const { stdout } = await command('completion', shell)
    const text = stdout.replaceAll(shell === 'zsh' ? `'\\''` : `\\'`, '')
    t.same(
      text.split('\n').filter((line) => (line.split("'").length - 1) % 2 !== 0),
      [],
      `${shell}: quotes`,
    )
    for (const { name } of COMMANDS)
      t.ok(stdout.includes(shell === 'zsh' ? `('${name}')` : `-n '__readership_at ${name}'`), name)
  }
  t.match(await command('completion', 'tcsh'), {
    code: 2,
    stderr: /no completion for tcsh; the shells are bash, zsh, fish/,
  })
})
