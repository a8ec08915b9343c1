import t from 'tap'
import { failedFiles } from './failed-files.js'

const GROUP = 'dist/test/groups/1-cli-1.test.js'
const ALONE = 'dist/test/groups/3-ship-spool.test.js'
const FILES: Readonly<Record<string, readonly string[]>> = {
  [GROUP]: ['cli/a.test.js', 'cli/b.test.js', 'cli/c.test.js'],
  [ALONE]: ['site/shipping/spool.test.js'],
}

const START = `# Subtest: ${GROUP}`
const [END_A, END_B, END_C] = ['a', 'b', 'c'].map((name) => `    ok 2 - end of cli/${name}.test.js # time=0.1ms`)

const RUNS: readonly [lines: readonly (string | undefined)[], expected: readonly string[], why: string][] = [
  [[START, '    ok 1 - x', END_A, END_B, END_C, `ok 1 - ${GROUP}`], [], 'a run that passed'],
  [
    [START, '    ok 1 - x', END_A, '    not ok 3 - y', END_B, '    ok 5 - z', END_C, `not ok 1 - ${GROUP}`],
    ['cli/b.test.js'],
    'a failed test belongs to the file that ends next',
  ],
  [
    [
      START,
      '    # Subtest: x',
      '        not ok 1 - deep',
      '    not ok 1 - x',
      END_A,
      END_B,
      END_C,
      `not ok 1 - ${GROUP}`,
    ],
    ['cli/a.test.js'],
    'an assertion is part of its test',
  ],
  [
    [START, '    ok 1 - x', END_A, '    ok 3 - y', `not ok 1 - ${GROUP}`],
    ['cli/b.test.js', 'cli/c.test.js'],
    'a program that crashed: the file at work, and the one that had no turn',
  ],
  [
    [START, '    not ok 1 - x', END_A, `not ok 1 - ${GROUP}`],
    ['cli/a.test.js', 'cli/b.test.js', 'cli/c.test.js'],
    'a test that failed, and then a crash',
  ],
  [
    [START, END_A, END_B, END_C, `not ok 1 - ${GROUP}`],
    ['cli/a.test.js', 'cli/b.test.js', 'cli/c.test.js'],
    'a program that failed after its files ended',
  ],
  [
    [`# Subtest: ${ALONE}`, '    not ok 1 - x', `not ok 2 - ${ALONE}`],
    ['site/shipping/spool.test.js'],
    'a file of its own',
  ],
  [
    [`# Subtest: ${ALONE}`, '    ok 1 - x', `not ok 2 - ${ALONE}`],
    ['site/shipping/spool.test.js'],
    'a file that crashed or hung',
  ],
  [
    [`# Subtest: ${ALONE}`, `ok 1 - ${ALONE}`, START, `not ok 2 - ${GROUP}`],
    ['cli/a.test.js', 'cli/b.test.js', 'cli/c.test.js'],
    'a program that could not be loaded',
  ],
  [
    [`# Subtest: ${ALONE}`, '    ok 1 - x', `ok 88 - ${ALONE} # time=9ms`, 'not ok 89 - timeout!'],
    [],
    'a line of the runner itself, after the last program has passed',
  ],
  [
    [`# Subtest: ${ALONE}`, '    not ok 1 - x', 'not ok 1 - timeout!', `not ok 2 - ${ALONE} # time=9ms`],
    ['site/shipping/spool.test.js'],
    'a line of the runner itself, while a program runs',
  ],
]

t.test('a run of all tests names the files that failed', (t) => {
  for (const [lines, expected, why] of RUNS) {
    const found = failedFiles(lines.join('\n'), (program) => FILES[program] ?? [])
    t.strictSame(found, expected, why)
  }
  t.end()
})

t.test('a program that never began, because the runner ran out of time, names its files', async (t) => {
  const log = [`# Subtest: ${ALONE}`, '    ok 1 - x', `ok 1 - ${ALONE}`, 'not ok 2 - timeout!'].join('\n')
  t.strictSame(
    failedFiles(log, (program) => FILES[program] ?? [], [ALONE, GROUP]),
    FILES[GROUP],
  )
})
