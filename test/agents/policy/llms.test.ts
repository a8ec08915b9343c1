import t from 'tap'
import { parseLlms } from '../../../src/agents/policy/llms.js'
import { createPolicy } from '../../../src/agents/policy/policy.js'

const text = (...lines: string[]) => lines.join('\n')
const HOME = 'https://a.example/llms.txt'

t.test('reads the example of llmstxt.org', async (t) => {
  const file = text(
    '# FastHTML',
    '',
    '> FastHTML is a python library which brings together',
    '> Starlette and HTMX.',
    '',
    'Important notes:',
    '',
    '- Although parts of its API are inspired by FastAPI, it is *not* compatible',
    '',
    '## Docs',
    '',
    '- [FastHTML quick start](https://a.example/docs/quickstart.html.md): A brief overview of many features',
    '- [HTMX reference](https://b.example/reference.md)',
    '',
    '## Optional',
    '',
    '- [Starlette docs](docs/starlette.md): A subset',
  )
  t.same(parseLlms(file, HOME), {
    title: 'FastHTML',
    summary: 'FastHTML is a python library which brings together Starlette and HTMX.',
    sections: [
      {
        name: 'Docs',
        optional: false,
        links: [
          {
            title: 'FastHTML quick start',
            url: 'https://a.example/docs/quickstart.html.md',
            notes: 'A brief overview of many features',
            offsite: false,
          },
          { title: 'HTMX reference', url: 'https://b.example/reference.md', offsite: true },
        ],
      },
      {
        name: 'Optional',
        optional: true,
        links: [
          { title: 'Starlette docs', url: 'https://a.example/docs/starlette.md', notes: 'A subset', offsite: false },
        ],
      },
    ],
    problems: [],
    truncated: false,
  })
  t.same(parseLlms(Buffer.from(`\xef\xbb\xbf${file}`, 'latin1'), HOME).title, 'FastHTML', 'a byte order mark')
  t.same(parseLlms(file.replaceAll('\n', '\r\n'), HOME).sections, parseLlms(file, HOME).sections, 'CR LF')
})

t.test('reads the links of a line', async (t) => {
  const rows: [
    line: string,
    links: [title: string, url: string, notes?: string][],
    problem: RegExp | undefined,
    why: string,
  ][] = [
    ['- [a](/b): c', [['a', '/b', 'c']], undefined, 'the standard form'],
    ['* [a](/b)', [['a', '/b']], undefined, 'another bullet'],
    ['+ [a](/b)', [['a', '/b']], undefined, 'a third bullet'],
    ['  1. [a](/b): c: d', [['a', '/b', 'c: d']], undefined, 'a number, indented'],
    ['- [a](<https://a.example/b c>)', [['a', '/b%20c']], undefined, 'in angle brackets'],
    ['- [a](/b "tip"): c', [['a', '/b', 'c']], undefined, 'a tip'],
    ['- [a [b] c](/b_(d))', [['a [b] c', '/b_(d)']], undefined, 'nested brackets and parentheses'],
    ['- [a](b#c)', [['a', '/b#c']], undefined, 'a fragment is shown'],
    ['- [a](?x=1)', [['a', '/llms.txt?x=1']], undefined, 'only a query'],
    ['- [](/b)', [['', '/b']], undefined, 'no title'],
    [
      'see [a](/b) and [c](/d).',
      [
        ['a', '/b'],
        ['c', '/d'],
      ],
      undefined,
      'in a sentence',
    ],
    ['- [a](/b c.md): d', [['a', '/b%20c.md', 'd']], /unescaped/, 'a space in the URL'],
    ['- [a](/b[1].md)', [['a', '/b[1].md']], /unescaped/, 'brackets in the URL'],
    ['- [a](/b [1] (c).md "tip"): d', [['a', '/b%20[1]%20(c).md', 'd']], /unescaped/, 'both, with a tip'],
    ['- [a](/b "see [1]"): d', [['a', '/b', 'd']], undefined, 'brackets in the tip'],
    ['- [a](<https://a.example/b[1] c>)', [['a', '/b[1]%20c']], /unescaped/, 'brackets in angle brackets'],
    ['- [a](/b (c): d', [['a', '/b%20(c', 'd']], /unescaped/, 'a parenthesis that nothing closes'],
    ['- [a] b](/c)', [['a] b', '/c']], /unescaped/, 'a bracket in the title that nothing opens'],
    ['- [a\\] b](/c)', [['a\\] b', '/c']], undefined, 'an escaped bracket in the title'],
    ['- [ ] [a](/b)', [['a', '/b']], undefined, 'a box to tick'],
    [
      '[a](/b c) and [d](/e[1])',
      [
        ['a', '/b%20c'],
        ['d', '/e[1]'],
      ],
      /unescaped/,
      'two in a line',
    ],
    ['- https://a.example/b', [['https://a.example/b', '/b']], /bare URL/, 'a bare URL'],
    ['<https://a.example/b>', [['https://a.example/b', '/b']], /bare URL/, 'in angle brackets'],
    ['- just words', [], /without a link/, 'no link'],
    ['just words', [], undefined, 'text'],
    ['- [a](mailto:x@a.example)', [], undefined, 'another scheme'],
    ['- [a](javascript:alert(1))', [], undefined, 'another scheme'],
    ['- [a](http://)', [], /not a URL/, 'not a URL'],
    ['- [a]', [], /without a link/, 'no target'],
    ['- [a](', [], /without a link/, 'no end'],
    ['### [a](/b)', [], undefined, 'a heading of a lower level'],
  ]
  for (const [line, links, problem, why] of rows) {
    const { sections, problems } = parseLlms(text('# t', '## s', line), HOME)
    t.same(
      sections.flatMap((section) =>
        section.links.map(({ title, url, notes }) => [title, url, ...(notes ? [notes] : [])]),
      ),
      links.map(([title, url, ...notes]) => [title, `https://a.example${url}`, ...notes]),
      `${line}: ${why}`,
    )
    if (problem === undefined) t.same(problems, [], `${line}: no problem`)
    else t.match(problems, [{ line: 3, problem }], line)
  }
})

t.test('reads files that depart from the form, and lists the problems', async (t) => {
  const names = (file: string) => parseLlms(file, HOME).sections.map(({ name, links }) => [name, links.length])
  const rows: [file: string, sections: [string, number][], problem: RegExp | undefined, why: string][] = [
    [
      text('# t', '## a', '[x](/x)', '### b', '[y](/y)', '## c'),
      [
        ['a', 2],
        ['c', 0],
      ],
      undefined,
      '### is within its ##',
    ],
    [text('# t', '##a', '[x](/x)'), [['a', 1]], undefined, '## without a space'],
    [
      text('# t', '[x](/x)', '## a'),
      [
        ['', 1],
        ['a', 0],
      ],
      /before the first section/,
      'a link before any section',
    ],
    [text('# t', '# u', '[x](/x)'), [['u', 1]], /second title/, 'a second title'],
    [text('## a', '[x](/x)'), [['a', 1]], /no title/, 'no title'],
    [text('# t', '## a', '```', '[x](/x)', '```', '[y](/y)'), [['a', 1]], undefined, 'code contains no links'],
    ['', [], /no title/, 'empty'],
    ['<!doctype html><a href="/x">x</a>\n## [a](/b)', [], /HTML/, 'HTML'],
    ['\n\n <HTML>', [], /HTML/, 'HTML further down'],
  ]
  for (const [file, sections, problem, why] of rows) {
    t.same(names(file), sections, why)
    if (problem) t.match(parseLlms(file, HOME).problems[0]?.problem, problem, why)
    else t.same(parseLlms(file, HOME).problems, [], why)
  }
})

t.test('lists a linked URL, its .md twin, and the URL without its trailing slash', async (t) => {
  const body = text(
    '# t',
    '## s',
    '- [a](/docs/a)',
    '- [b](/docs/b.md)',
    '- [c](https://a.example/docs/c/#top)',
    '- [d](/docs/d/index.html.md)',
    '- [e](/docs/e?v=2)',
    '- [f](/caf%C3%A9)',
    '- [g](https://b.example/docs/g)',
    '- [h](http://a.example:8080/docs/h)',
    '- [i](/docs/i.html.md)',
    '- [home](/)',
  )
  const policy = createPolicy({ hostname: 'a.example', robots: { status: 404, body: '' }, llms: { status: 200, body } })
  const rows: [target: string, expected: boolean, why: string][] = [
    ['/docs/a', true, 'itself'],
    ['/docs/a/', true, 'without its trailing slash'],
    ['/docs/a?x=1', false, 'a query makes it another URL'],
    ['/docs/A', false, 'so does another case'],
    ['/docs/a.md', false, 'a page does not list its .md twin'],
    ['/docs/b', true, 'its .md twin'],
    ['/docs/b/', true, 'the .md twin without the slash'],
    ['/docs/b.md', true, 'itself'],
    ['/docs/c/', true, 'without the fragment'],
    ['/docs/c', false, 'the slash is only in the file'],
    ['/docs/d/', true, 'the twin of a directory'],
    ['/docs/e?v=2', true, 'with its query'],
    ['/docs/e', false, 'not without its query'],
    ['/docs/i.html', true, 'the twin of a file'],
    ['/caf%c3%a9', true, 'in another percent-encoding'],
    ['/caf\xc3\xa9', true, 'as raw octets'],
    ['/docs/g', false, 'another site'],
    ['/docs/h', true, 'another scheme or port of this hostname'],
    ['/', true, 'the root'],
    ['/other', false, 'not linked'],
  ]
  for (const [target, expected, why] of rows) t.equal(policy.lists(target), expected, `${target}: ${why}`)
  for (const llms of [undefined, { status: 404, body }, { status: 500, body }]) {
    const without = createPolicy({ hostname: 'a.example', robots: { status: 404, body: '' }, ...(llms && { llms }) })
    t.equal(without.lists('/docs/a'), null, `${llms?.status}: no llms.txt`)
    t.equal(without.llms, null)
  }
  const html = createPolicy({ hostname: '[', robots: { status: 404, body: '' }, llms: { status: 200, body: '<html>' } })
  t.equal(html.lists('/docs/a'), false, 'an llms.txt without links')
})

t.test('relative links are resolved against the URL of the response', async (t) => {
  const rows: [url: string | undefined, link: string, why: string][] = [
    ['https://a.example:8443/llms.txt', 'https://a.example:8443/docs/a', 'scheme and port'],
    ['http://a.example/files/llms.txt', 'http://a.example/files/docs/a', 'a redirect on the same host'],
    ['https://cdn.example/llms.txt', 'http://a.example/docs/a', 'a redirect to another host'],
    [undefined, 'http://a.example/docs/a', 'not known'],
    ['', 'http://a.example/docs/a', 'no URL'],
  ]
  const body = '# t\n\n## s\n- [a](docs/a)'
  for (const [url, link, why] of rows) {
    const llms = { status: 200, body, ...(url !== undefined && { url }) }
    const policy = createPolicy({ hostname: 'a.example', robots: { status: 404, body: '' }, llms })
    t.match(policy.llms?.sections, [{ links: [{ url: link, offsite: false }] }], why)
  }
})

t.test('reads hostile files in bounded time and memory', async (t) => {
  const many = parseLlms(`# a\n## b\n${Array.from({ length: 60_000 }, () => '[](a)\n').join('')}`, HOME)
  t.equal(many.sections[0]?.links.length, 50_000)
  t.equal(many.truncated, true)
  const long = parseLlms(`# a\n${'x'.repeat(600_000)}\n## b`, HOME)
  t.same([long.title, long.sections.length, long.truncated], ['a', 0, true])
  t.equal(
    parseLlms('# a\n## b\n'.concat('- x\n'.repeat(1000)), HOME).problems.length,
    101,
    'at most 100 problems are listed',
  )
  const parts = [
    '](',
    '[](',
    '[',
    '[a]((',
    '[a](b "',
    '[a](<',
    ' ',
    '#',
    '- ',
    '> ',
    '`',
    '[a](b)',
    '\0',
    '\xff',
    '\n## ',
    '(',
    '<',
  ]
  for (const part of parts) {
    const before = process.cpuUsage()
    parseLlms(`# t\n## s\n- ${part.repeat(Math.ceil(2_000_000 / part.length))}`, HOME)
    parseLlms(`${part.repeat(Math.ceil(520_000 / part.length / 2))}\n${part}`, HOME)
    const { user, system } = process.cpuUsage(before)
    t.ok(user + system < 5e6, `${JSON.stringify(part)}: ${((user + system) / 1e3).toFixed(0)} ms`)
  }
})
