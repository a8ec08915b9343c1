import t from 'tap'
import { formatTailLegend, formatTailLine } from '../../../src/app/cli/tail-line.js'
import { textWidth } from '../../../src/app/cli/text-width.js'

const at = new Date(2026, 10, 21, 9, 5, 3).toISOString()
const row = { timestamp: at, hostname: 'a.com', pathname: '/x\u009b31m', duration_ms: 12.4 }
const agent = { ...row, audience: 'agent', agent_id: 'gptbot', user_agent: 'x', status: 200, bytes: 1234 } as const
const human = { ...row, audience: 'human', browser: 'Firefox', os: 'Linux', status: 200 } as const
const rule = { robots_allowed: false, robots_rule: '/x', robots_line: 2 }
const PATH = '/almanac/2026/november/spring-tides'
const pipe = { colour: false, columns: undefined }
const narrow = { colour: false, columns: 80 }

t.test('a line at 80 columns begins with its time and its path, and leaves no column empty', async (t) => {
  const rows: [Parameters<typeof formatTailLine>[1], string, string][] = [
    [
      { ...agent, pathname: PATH, verified: true },
      '09:05:03 /almanac/2026/november/spring-tides 200    verified gptbot',
      'an agent',
    ],
    [human, '09:05:03 /x\\x9b31m                          200    person   Firefox Linux', 'a person'],
    [
      { ...agent, verified: false, status: 404 },
      '09:05:03 /x\\x9b31m                          404    spoofed  "gptbot"',
      'a name that is not true is in quotes',
    ],
    [
      { ...agent, agent_id: 'other', user_agent: 'odd\nbot' },
      '09:05:03 /x\\x9b31m                          200    unknown  odd\\x0abot',
      'an agent without a name shows its user agent',
    ],
    [
      { ...human, browser: null, os: null, status: null, duration_ms: null },
      '09:05:03 /x\\x9b31m                                 person   browser',
      'nothing is known of it',
    ],
    [
      { ...agent, ...rule },
      '09:05:03 /x\\x9b31m                          200    unknown  gptbot\n         disallowed by "/x" line 2',
      'a rule that does not fit is below the path',
    ],
    [
      { ...human, kind: 'custom', event_name: 'Go' },
      '09:05:03 /x\\x9b31m                          200    person   Firefox Linux "Go"',
      'an event that fits',
    ],
    [
      { ...human, kind: 'engagement', status: null },
      '09:05:03 /x\\x9b31m engagement                      person   Firefox Linux',
      'an event that fits beside its path only',
    ],
    [
      { ...human, pathname: `${PATH}/and-neaps/of-the-year-that-follows` },
      '09:05:03 /almanac/2026/novembe…-the-year-that-follows 200    person   Firefox L…',
      'a path that is too long keeps both ends, and the reader stays',
    ],
  ]
  for (const [input, expected, why] of rows) t.equal(formatTailLine(narrow, input), expected, why)
})

t.test('a wide terminal and a pipe add what was sent, and how long it took', async (t) => {
  for (const shape of [pipe, { colour: false, columns: 160 }]) {
    t.match(formatTailLine(shape, agent), /^09:05:03 \/x\\x9b31m +200 +unknown +1\.2 KB in 12 ms +gptbot$/)
    t.match(formatTailLine(shape, human), /^09:05:03 \/x\\x9b31m +200 +person +12 ms +Firefox Linux$/)
    t.match(
      formatTailLine(shape, { ...agent, ...rule }),
      / gptbot disallowed by "\/x" line 2$/,
      'the rule is beside it',
    )
  }
  for (const [kind, event_name, ending] of [
    ['pageview', null, 'Firefox Linux'],
    ['custom', 'Sign\nup', 'Firefox Linux "Sign\\x0aup"'],
    ['file_download', null, 'Firefox Linux file download'],
  ] as const)
    t.ok(formatTailLine(pipe, { ...human, kind, event_name }).endsWith(ending), `${kind}: its event`)
  const long = `/${'x'.repeat(200)}`
  t.ok(formatTailLine(pipe, { ...human, pathname: long }).includes(long), 'a path is whole in a pipe')
})

t.test('no line is wider than the terminal, no style is left open, and no word of the legend is cut', async (t) => {
  for (const columns of [200, 160, 110, 80, 70, 40, 3]) {
    const shape = { colour: false, columns }
    const long = { ...agent, ...rule, pathname: `/${'long-'.repeat(50)}` }
    const lines = [agent, { ...agent, ...rule }, long, human].flatMap((one) => formatTailLine(shape, one).split('\n'))
    t.same(
      [...lines, ...formatTailLegend(shape).split('\n')].filter((line) => textWidth(line) > columns),
      [],
      `no line is wider than ${columns} columns`,
    )
  }
  const [titles = '', ...meaning] = formatTailLegend(narrow).split('\n')
  const line = formatTailLine(narrow, { ...agent, verified: false })
  t.equal(titles.indexOf('WHO'), line.indexOf('spoofed'), 'the titles stand above their columns')
  t.equal(titles.indexOf('PATH'), line.indexOf('/x'))
  for (const word of ['person', 'verified', 'spoofed', 'unknown'])
    t.match(meaning.join(' '), word, 'a word of the column')
  t.notMatch(meaning.join(' '), '…')
  t.match(formatTailLine({ colour: true, columns: 80 }, agent), '\u001b[2m unknown \u001b[22m', 'with colour')
})
