import t from 'tap'
import { faultsOfText, findProseFaults, type ProseFault } from './fixtures/prose.js'
import { vagueValues } from './fixtures/vague-values.js'

const format = ({ file, line, rule, text }: ProseFault) => `${file}:${line}: ${rule}: ${text}`

t.test('the checkout follows the style card in src/README.md', async (t) => {
  t.same(findProseFaults('.').map(format), [])
})

const CASES: readonly (readonly [comment: string, ...rules: string[]])[] = [
  ['What a read returns.', 'relative pronoun'],
  ['whose rows these are', 'relative pronoun'],
  ['What is counted? Visitors.'],
  ['It continues a session.', 'begin with a noun or verb'],
  ['These hosts only.', 'begin with a noun or verb'],
  ['Items that it has.'],
  ['Rows whose session has ended, where the store has them.'],
  ['Read by nobody, and whoever\n asks is a stranger.', 'name the actor', 'name the actor', 'name the actor'],
  ['Undefined if there is\n   none.', 'does not exist'],
  ['The version in force is read anew.', 'active', 'again, afresh'],
  ['A backup is no\n text for a terminal, and gaps are no news.', 'is not a', 'is not a'],
  ['There is no such site; it is no longer there, and no other is.'],
  ['The window as the\n query has it.', 'say it plainly'],
  ['The time is that of the first row of those of the day.', 'stacked "that of"'],
  ['The time is that of the first row. The order is that of the day.'],
  ['Retries behind the batch.', 'after, not behind'],
  ['Runs behind a reverse proxy, behind the load balancer and behind CGNAT.'],
  ['Drops rows when the reader falls behind; leaves nothing behind.'],
  ['The door takes a parcel.', 'no poetry', 'no poetry'],
  ['The color of a canceled, unrecognized row.', ...Array(3).fill('British spelling')],
  ['Authorization of a 401 Unauthorized, resized; `color` and https://a.com/color.'],
  ['Refused (contract 4, spec 5.4); see architecture.md.', ...Array(3).fill('absent document')],
  ['Strips hop-by-hop fields (RFC 9110 7.6.1; duckdb issue 17343).'],
]
t.test('each rule for words reports its faults and nothing else', async (t) => {
  for (const [text, ...rules] of CASES)
    t.same(
      faultsOfText('a.ts', { kind: 'comment', line: 1, text }).map(({ rule }) => rule),
      rules,
      text,
    )
})

t.test('faults of a checkout have their line', async (t) => {
  const long = `function split() {\n${'  //\n'.repeat(80)}}\n`
  const checkout = t.testdir({
    'README.md': `${'a'.repeat(301)}\n${'b\n'.repeat(6_000)}`,
    src: {
      'desk.ts': `import { read } from './read.js'\nexport const told = read('a sieve ' + \`\${1}\nin force\`)\n`,
      'read.ts': `/** Long because it is one parser. */\n${long}export const read = (a = '// What is in a text') => split()\n`,
      'wide.ts': `// Of use.\n${long}throw new Error('nobody is here')\n`,
    },
    test: { 'a.test.ts': `t.test('read anew', () => read('anew')) // Returns\n// Whose?\n// What\n` },
  })
  t.same(
    findProseFaults(checkout).map(({ file, line, rule }) => `${file}:${line}: ${rule}`),
    [
      'README.md:1: README',
      'README.md:1: README',
      'src/desk.ts:1: name',
      'src/desk.ts:2: no poetry',
      'src/desk.ts:2: name',
      'src/desk.ts:2: unused export',
      'src/desk.ts:3: active',
      'src/wide.ts:1: relative pronoun',
      'src/wide.ts:2: long function',
      'src/wide.ts:84: name the actor',
      'test/a.test.ts:1: again, afresh',
    ],
  )
  t.same(findProseFaults(checkout, ['test/', 'src/wide.ts']).length, 4, 'below path prefixes')
})

t.test('a value that lives longer than three lines says what it is', async (t) => {
  const table: readonly (readonly [code: string, names: readonly string[], why: string])[] = [
    ['const found = 1\n\n\nread(found)', [], 'used after three lines'],
    ['const found = 1\n\n\n\nread(found)', ['found'], 'used after four'],
    ['function f(known: string) {\n\n\n\n return known\n}', ['known'], 'a parameter'],
    ['const [own] = all\n\n\n\nread(own)', ['own'], 'an element of an array'],
    ['const { held } = all\n\n\n\nread(held)', [], 'the name of a property'],
    ['const founds = 1\n\n\n\nread(founds)', [], 'another word'],
  ]
  for (const [code, names, why] of table)
    t.same(
      vagueValues('a.ts', code).map(({ name }) => name),
      names,
      why,
    )
})
