import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { COMMANDS } from '../../../src/app/cli/program.js'
import { command } from '../../fixtures/command.js'

/** Lines, and the words that every shell offers after them. */
const ROWS: [line: string, expected: string[], why: string][] = [
  ['readership sta', ['stats', 'status'], 'commands that begin so'],
  ['readership keys ', ['create', 'list', 'revoke'], 'a group'],
  ['readership agents r', ['reclassify', 'refresh'], 'a command that has commands'],
  ['readership tail --no', ['--no-follow'], 'a flag'],
  ['readership tail --path /x --no', ['--no-follow'], 'after a value'],
  ['readership keys create --na', ['--name'], 'a flag of a command in a group'],
  ['readership completion z', ['zsh'], 'an argument that is one of a few'],
  ['readership nosuch --', [], 'no such command'],
]

/** How a shell, without the user's own settings, sources the script `$1` and completes the line of the arguments after it. */
const SHELLS: Record<Shell, readonly string[]> = {
  bash: [
    ...['--norc', '-c'],
    `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _readership; printf '%s\\n' "\${COMPREPLY[@]}"`,
    'bash',
  ],
  // `_describe` of zsh draws a menu, for which there is no terminal: a printed list stands in its place.
  zsh: [
    ...['-f', '-c'],
    `autoload -U compinit; compinit -C -d "$1.dump"; source "$1"; shift; words=("$@"); CURRENT=$#
    _describe() { print -rl -- "\${(@)\${(@P)2}%%:*}" } ; _files() { : }
    $_comps[readership]`,
    'zsh',
  ],
  fish: ['--no-config', '-c', 'source $argv[1]; complete -C "$argv[2..-1]"'],
}
type Shell = 'bash' | 'zsh' | 'fish'

for (const [shell, args] of Object.entries(SHELLS)) {
  const isThere = spawnSync(shell, ['--version']).status === 0
  t.test(
    `${shell} completes commands, groups and flags`,
    { skip: !isThere && `${shell} is not installed` },
    async (t) => {
      const { code, stdout } = await command('completion', shell)
      t.equal(code, 0)
      const file = join(t.testdir(), `readership.${shell}`)
      writeFileSync(file, stdout)
      execFileSync(shell, ['-n', file])
      const complete = (line: string): string[] => {
        const words = line.split(' ')
        const { stdout, stderr } = spawnSync(shell, [...args, file, ...words], { encoding: 'utf8' })
        t.equal(stderr, '', line)
        // zsh itself leaves out what does not begin with the word, and fish tells what each is for.
        const offered = stdout
          .split('\n')
          .flatMap((text) => text.split('\t', 1))
          .filter(Boolean)
        return offered.filter((each) => each.startsWith(words.at(-1) ?? ''))
      }
      for (const [line, expected, why] of ROWS) t.same(complete(line).sort(), expected, why)
      const first = new Set(COMMANDS.map(({ name }) => name.split(' ')[0] ?? ''))
      t.same(complete('readership ').sort(), [...first].sort(), 'every command')
      for (const { name } of COMMANDS) t.ok(complete(`readership ${name} --he`).includes('--help'), name)
    },
  )
}

t.test('scripts for shells that are not installed here name every command, with closed quotes', async (t) => {
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
