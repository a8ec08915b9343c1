import t from 'tap'
import { COMMANDS, runProgram } from '../../../src/app/cli/program.js'
import { textWidth, wrapWords } from '../../../src/app/cli/text-width.js'
import { createTerminal } from '../../fixtures/command.js'

async function helpOf(name: readonly string[], columns: number | undefined): Promise<string> {
  const { output, terminal } = createTerminal()
  await runProgram([...name, '--help'], { ...terminal, columns })
  return output.stdout
}

const wordsOf = (text: string) => text.split(/\s+/).filter(Boolean)

t.test('no help is wider than the terminal, and no word of it is broken', async (t) => {
  for (const name of [[], ...COMMANDS.map((command) => command.name.split(' '))]) {
    const wide = wordsOf(await helpOf(name, 100))
    for (const [columns, width] of [
      [60, 60],
      [80, 80],
      [undefined, 80],
      [300, 100],
    ] as const) {
      const help = await helpOf(name, columns)
      const why = `${name.join(' ') || 'readership'} at ${columns ?? 'a pipe'}`
      t.same(
        help.split('\n').filter((line) => textWidth(line) > width || line !== line.trimEnd()),
        [],
        `${why}: its lines`,
      )
      t.same(wordsOf(help), wide, `${why}: its words`)
    }
  }
})

t.test('a long flag has its description on the next line, and a short one beside', async (t) => {
  const help = await helpOf(['proxy'], 80)
  t.match(help, /^ {2}--port <port> {15}port to serve the site on/m)
  t.match(help, /^ {2}--trust-proxy <cidr\|loopback\|private>\n {30}peers whose X-Forwarded-For/m)
  t.match(await helpOf(['proxy'], 60), /^ {2}--port <port>\n {6}port to serve the site on/m, 'below it at 60 columns')
  t.notMatch(help, 'default false', 'a switch is off without its flag')
})

t.test('text is wrapped at spaces', async (t) => {
  const rows: [string, number, string[], string][] = [
    ['one two three', 7, ['one two', 'three'], 'at a space'],
    ['one', 3, ['one'], 'that fits'],
    ['it has 12 MB free', 9, ['it has', '12 MB', 'free'], 'a number keeps its unit'],
    ['abcdefgh', 3, ['abc', 'def', 'gh'], 'a word that is longer than a line'],
    ['漢字 漢字', 5, ['漢字', '漢字'], 'by columns, not characters'],
  ]
  for (const [text, columns, expected, why] of rows) t.same(wrapWords(text, columns), expected, why)
})
