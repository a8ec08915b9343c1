import fc from 'fast-check'
import t from 'tap'
import { z } from 'zod'
import { formatDuration, formatLabel, formatNumber, formatPercent } from '../../../src/analytics/export/format.js'
import { createTables } from '../../../src/analytics/export/sheet-tables.js'
import { bar, barWidth, sparkline } from '../../../src/app/cli/charts.js'
import { escapeJson, escapeText } from '../../../src/app/cli/escape.js'
import { showElapsed } from '../../../src/app/cli/progress.js'
import { formatTable } from '../../../src/app/cli/table.js'
import { cutMiddle, cutToWidth, fitToWidth, textWidth } from '../../../src/app/cli/text-width.js'
import { formatBytes } from '../../../src/base/format-bytes.js'

// Clients choose their user agent, path and referrer, and the operator prints them. Without escaping, a client could send
// terminal escape sequences (also C1 controls, where one byte starts a sequence) to clear the screen, set the title or
// forge rows; bidirectional and zero-width characters to disguise a name; or line ends to fake a line of output.
t.test('escapeText escapes every character that a terminal would interpret or hide', async (t) => {
  const rows: [string, string, string][] = [
    ['plain text, Ünïcode, 漢字, 🦊', 'plain text, Ünïcode, 漢字, 🦊', 'left alone'],
    ['\u001b[31mred', '\\x1b[31mred', 'escape sequence'],
    ['\u009b31m', '\\x9b31m', 'the same in one byte (C1)'],
    ['a\nb\r\tc\0', 'a\\x0ab\\x0d\\x09c\\x00', 'lines, tab, nul'],
    ['\u007f\u0008', '\\x7f\\x08', 'delete, backspace'],
    ['\u202egnp.exe', '\\u{202e}gnp.exe', 'reversed text'],
    ['\u2066x\u2069\u200f', '\\u{2066}x\\u{2069}\\u{200f}', 'isolates and marks'],
    ['a\u200bb\ufeff', 'a\\u{200b}b\\u{feff}', 'zero-width characters'],
    ['\u2065', '\\u{2065}', 'unassigned, but hidden by terminals'],
    ['a\u2028b', 'a\\u{2028}b', 'line separator'],
    ['\ud800', '\\u{d800}', 'lone surrogate'],
    ['\u{e0041}', '\\u{e0041}', 'tags'],
    ['\u001b]0;title\u0007', '\\x1b]0;title\\x07', "the window's title"],
  ]
  for (const [input, expected, why] of rows) t.equal(escapeText(input), expected, why)
})

/** Generates any text, with unsafe characters more often than by chance. */
const wild = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\u001b[2J', '\u009b', '\u202e', '\n', '\r', '\u2028', '\ud83d', '\u0085', '\u200f', '"', '\\'),
    ),
  )
  .map((parts) => parts.join(''))
// Lists code points instead of Unicode properties, so that it is independent of the code under test.
const unsafe = (text: string) =>
  [...text].some((character) => {
    const code = character.codePointAt(0) ?? 0
    return (
      code < 0x20 ||
      (code >= 0x7f && code < 0xa0) ||
      code === 0x61c ||
      (code >= 0x200b && code <= 0x200f) ||
      (code >= 0x2028 && code <= 0x202e) ||
      (code >= 0x2060 && code <= 0x206f) ||
      (code >= 0xd800 && code <= 0xdfff) ||
      code === 0xfeff
    )
  })

t.test('generated text has no unsafe character after escaping, and JSON keeps its value', async (t) => {
  fc.assert(fc.property(wild, (text) => !unsafe(escapeText(text))))
  fc.assert(
    fc.property(wild, (text) => {
      const json = escapeJson({ [text]: [text, 1, null] })
      return !unsafe(json) && JSON.stringify(JSON.parse(json)) === JSON.stringify({ [text]: [text, 1, null] })
    }),
  )
  fc.assert(
    fc.property(wild, (text) => !unsafe(escapeJson({ text }, 2).replaceAll('\n', ''))),
    { numRuns: 50 },
  )
  t.pass('1,050 texts')
})

t.test('textWidth counts terminal columns', async (t) => {
  const rows: [string, number, string][] = [
    ['abc', 3, 'Latin'],
    ['漢字', 4, 'wide'],
    ['ｆｕ', 4, 'full width'],
    ['한국', 4, 'Hangul'],
    ['e\u0301', 1, 'combining'],
    ['🦊', 2, 'emoji'],
    ['', 0, 'nothing'],
    ['▁█…✓', 4, 'our own marks'],
  ]
  for (const [text, expected, why] of rows) t.equal(textWidth(text), expected, why)
  t.equal(fitToWidth('ab', 4), 'ab  ')
  t.equal(fitToWidth('ab', 4, true), '  ab')
  t.equal(fitToWidth('abcdef', 4), 'abc…')
  t.equal(fitToWidth('漢字漢字', 4), '漢… ', 'a wide character is never halved')
  t.equal(cutToWidth('abc', 0), '')
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 30 }), (text, columns) => {
      const made = fitToWidth(escapeText(text), columns)
      return textWidth(made) === columns
    }),
  )
})

t.test('a path is cut in the middle, because paths differ at their end', async (t) => {
  const rows: [string, number, string, string][] = [
    ['/a/short', 20, '/a/short', 'it fits'],
    ['/proofs/2026/11/how-radio-began', 20, '/proofs/2026/…-began', 'the tail begins at a boundary'],
    ['/proofs/2026/11/how-radio-began', 24, '/proofs/202…-radio-began', 'at the longest tail of half the width'],
    ['/journal/a-very-long-name/last', 20, '/journal/…-name/last', 'across a slash'],
    [`/${'x'.repeat(30)}`, 10, '/xxx…xxxxx', 'without a boundary'],
    ['漢字漢字漢字/漢字', 10, '漢字…/漢字', 'by columns'],
    ['/abcdefghij', 5, '/abc…', 'too narrow for two ends'],
  ]
  for (const [text, columns, expected, why] of rows) t.equal(cutMiddle(text, columns), expected, why)
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 40 }), (text, columns) => {
      const made = cutMiddle(escapeText(text), columns)
      return textWidth(made) <= columns
    }),
  )
})

t.test('tables, sparklines and numbers', async (t) => {
  const plain = { colour: false, columns: undefined }
  t.equal(
    formatTable(
      plain,
      [{ title: 'N', right: true }, { title: 'PAGE' }],
      [
        ['5', '/漢字'],
        ['12', '/\u001b[31m'],
      ],
    ),
    ' N  PAGE\n 5  /漢字\n12  /\\x1b[31m\n',
  )
  t.equal(
    formatTable({ ...plain, columns: 8 }, [{ title: 'A' }, { title: 'B' }], [['abc', 'defghi']]),
    'A    B\nabc  de…\n',
  )
  t.equal(sparkline([0, 1, 7, 14]), '▁▂▅█', '0, 1/14, 1/2, 1 of 7 steps, rounded')
  t.equal(sparkline([0, 0]), '▁▁')
  t.equal(sparkline([]), '')
  t.equal(sparkline([1, 1, 2, 2], 2), '▅█', 'neighbours added: 2 and 4')
  for (const [made, expected] of [
    [formatBytes(0), '0 B'],
    [formatBytes(999), '999 B'],
    [formatBytes(1000), '1.0 KB'],
    [formatBytes(999_960), '1.0 MB'],
    [formatBytes(1_234_567), '1.2 MB'],
    [formatPercent(0.1234), '12.3 %'],
    [formatDuration(59.6), '1 m 0 s'],
    [formatDuration(0.4), '0 s'],
    [formatDuration(125), '2 m 5 s'],
    [formatDuration(19_125.64), '5 h 18 m'],
    [formatDuration(273_599), '3 d 3 h'],
    [formatLabel('llms-links'), 'llms.txt links'],
    [formatLabel('blank-pages'), 'Blank pages'],
    [formatLabel('people.exit_rate'), 'People exit rate'],
    [formatNumber(1234567.89), '1,234,567.9'],
  ])
    t.equal(made, expected)
})

t.test('inner rows say which row they belong to, and no more', async (t) => {
  const agents = z.array(z.object({ agent_id: z.string(), state: z.string() }))
  const data = z.array(z.object({ path: z.string(), title: z.string().optional(), since: z.string(), agents }))
  const tables = createTables({
    ...{ title: 'editions', read: { data }, tz: 'UTC', compared: false, metrics: new Set<string>(), total: undefined },
    data: [
      { path: '/a', title: 'A long title', since: 'May', agents: [{ agent_id: 'gptbot', state: 'old' }] },
      { path: '/b', since: 'June', agents: [{ agent_id: 'gptbot', state: 'current' }] },
    ],
    limit: 1,
  })
  t.match(tables, [
    { columns: [{ title: 'Path' }, { title: 'Agent ID' }, { title: 'State' }], rows: [['/a', 'gptbot', 'old']] },
  ])
  t.match(tables, [{ title: 'Editions agents', remark: 'the first 1 of 2 rows; the CSV file has all' }])
})

t.test('bars', async (t) => {
  const rows: [number, number, number, string, string][] = [
    [8, 8, 4, '████', 'the largest takes all'],
    [4, 8, 4, '██', 'half'],
    [3, 8, 4, '█▌', 'three eighths of four'],
    [1, 1_000_000, 4, '▏', 'a value above 0 is visible'],
    [0, 8, 4, '', '0 is empty'],
    [0, 0, 4, '', '0 of 0'],
    [9, 8, 4, '████', 'never wider than its column'],
    [5, 8, 0, '', 'no columns'],
    [Number.NaN, 8, 4, '', 'no number'],
  ]
  for (const [value, most, width, expected, why] of rows) t.equal(bar(value, most, width), expected, why)
  t.equal(barWidth(undefined), 16)
  t.equal(barWidth(20), 0, 'no bar in a narrow terminal')
  t.equal(barWidth(80), 14)
  t.equal(barWidth(400), 24)
})

t.test('work on a terminal shows what is done and for how long; in a pipe nothing', async (t) => {
  for (const [errColumns, expected, why] of [
    [80, ['\r\u001b[2KFetching 2 lists … 1 s', '\r\u001b[2K'], 'after a second, and the line is removed'],
    [8, ['\r\u001b[2KFetchi…', '\r\u001b[2K'], 'cut'],
    [undefined, [], 'in a pipe'],
  ] as const) {
    const printed: string[] = []
    const terminal = { err: (text: string) => void printed.push(text), errColumns }
    const work = new Promise<string>((resolve) => setTimeout(resolve, 1500, 'done'))
    t.equal(await showElapsed(terminal, () => 'Fetching 2 lists', work), 'done')
    t.same(printed, expected, why)
  }
  const printed: string[] = []
  const terminal = { err: (text: string) => void printed.push(text), errColumns: 80 }
  t.equal(await showElapsed(terminal, () => 'Short', Promise.resolve(1)), 1)
  t.same(printed, [], 'short work shows nothing')
})
