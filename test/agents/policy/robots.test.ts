import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Agent } from '../../../src/agents/catalog.js'
import { loadCatalog } from '../../../src/agents/catalog.js'
import { compileRobots } from '../../../src/agents/policy/compiled-robots.js'
import { parseRobots } from '../../../src/agents/policy/parse-robots.js'
import type { RobotsMode } from '../../../src/agents/policy/robots-lines.js'

const gptbot = loadCatalog().agents.find((agent) => agent.id === 'gptbot')
if (gptbot === undefined) throw new Error('no gptbot in the catalog')
const agentWithTokens = (...robots_tokens: string[]): Agent => ({ ...gptbot, robots_tokens })

/** Returns the line that decides: positive for Allow, negative for Disallow, 0 if no rule decides. */
const decided = (body: string | Uint8Array, token: string, target: string, mode: RobotsMode = 'rfc'): number => {
  const book = compileRobots(body, mode)
  const rule = book.find(book.select(agentWithTokens(token)), target)
  return rule === undefined ? 0 : rule.allow ? rule.line : -rule.line
}
const allowed = (...asked: Parameters<typeof decided>) => decided(...asked) >= 0
const text = (...lines: string[]) => lines.join('\n')

/**
 * Assertions of robots_test.cc of github.com/google/robotstxt (Copyright 1999 Google LLC, Apache License 2.0),
 * converted to data.
 */
const GOOGLE: { test: string; robots: string; ua: string; url: string; allowed: boolean }[] = JSON.parse(
  readFileSync('test/agents/policy/robots_google.json', 'utf8'),
)

/** Returns path, parameters and query of a URL as Google's caller does: from the first of `/ ? ;` after the host. */
function targetOf(url: string): string {
  const host = url.indexOf('://')
  const rest = url.slice(host < 0 ? 0 : host + 3)
  const start = rest.search(/[/?;]/)
  if (start < 0) return '/'
  return rest.charAt(start) === '/' ? rest.slice(start) : `/${rest.slice(start)}`
}

t.test("passes Google's own 142 cases in google mode", async (t) => {
  t.equal(GOOGLE.length, 142)
  for (const one of GOOGLE)
    t.equal(allowed(one.robots, one.ua, targetOf(one.url), 'google'), one.allowed, `${one.test} ${one.ua} ${one.url}`)
})

t.test('RFC 9309 5.1: reads the simple example', async (t) => {
  const file = text(
    'User-agent: *',
    'Disallow: *.gif$',
    'Disallow: /example/',
    'Allow: /publications/',
    '',
    'User-agent: foobot',
    'Disallow:/',
    'Allow:/example/page.html',
    'Allow:/example/allowed.gif',
    '',
    'User-agent: barbot',
    'User-agent: bazbot',
    'Disallow: /example/page.html',
    '',
    'User-agent: quxbot',
    '',
    '#EOF',
  )
  const rows: [token: string, target: string, line: number, why: string][] = [
    ['otherbot', '/a.gif', -2, 'the group of *, by ending'],
    ['otherbot', '/a.gif?x', 0, 'does not end so'],
    ['otherbot', '/example/a', -3, 'the group of *, by prefix'],
    ['otherbot', '/publications/a', 4, 'allowed by name'],
    ['otherbot', '/publications/a.gif', 4, '15 octets beat 6'],
    ['foobot', '/', -7, 'disallowed with two exceptions'],
    ['foobot', '/example/page.html', 8, 'the longer'],
    ['foobot', '/example/allowed.gif', 9, 'the longer'],
    ['foobot', '/publications/a', -7, 'has its own group, so * does not apply'],
    ['barbot', '/example/page.html', -13, 'a shared group'],
    ['bazbot', '/example/page.html', -13, 'a shared group'],
    ['bazbot', '/example/', 0, '* does not apply'],
    ['quxbot', '/example/', 0, 'an empty group is a group'],
    ['QuxBot', '/a.gif', 0, 'tokens in any case'],
  ]
  for (const [token, target, line, why] of rows)
    t.equal(decided(file, token, target), line, `${token} ${target}: ${why}`)
})

t.test('RFC 9309 5.2 and 2.2.1: takes the longest match and merges groups', async (t) => {
  const file = text('User-agent: foobot', 'Allow: /example/page/', 'Disallow: /example/page/disallowed.gif')
  t.equal(decided(file, 'foobot', '/example/page/disallowed.gif'), -3)
  t.equal(decided(file, 'foobot', '/example/page/'), 2)
  const merged = text(
    'user-agent: ExampleBot',
    'disallow: /foo',
    'disallow: /bar',
    '',
    'user-agent: *',
    'disallow: /other',
    '',
    'user-agent: ExampleBot',
    'disallow: /baz',
  )
  const rows: [target: string, line: number][] = [
    ['/foo', -2],
    ['/bar', -3],
    ['/baz', -9],
    ['/other', 0],
  ]
  for (const [target, line] of rows) t.equal(decided(merged, 'ExampleBot', target), line, target)
})

t.test('RFC 9309 2.2.2 and 2.2.3: compares encodings and special characters', async (t) => {
  const rows: [pattern: string, target: string, rfc: boolean, google: boolean, why: string][] = [
    // The table of 2.2.2: path, and the path to match.
    ['/foo/bar?baz=quz', '/foo/bar?baz=quz', true, true, 'row 1'],
    ['/foo/bar?baz=https://foo.bar', '/foo/bar?baz=https%3A%2F%2Ffoo.bar', true, false, 'row 2'],
    ['/foo/bar?baz=https%3A%2F%2Ffoo.bar', '/foo/bar?baz=https://foo.bar', true, false, 'row 2, the other way'],
    ['/foo/bar?baz=https://foo.bar', '/foo/bar?baz=https://foo.bar', true, true, 'row 2, as written'],
    ['/foo/bar/\u30c4', '/foo/bar/%E3%83%84', true, true, 'row 3'],
    ['/foo/bar/%E3%83%84', '/foo/bar/\xe3\x83\x84', true, false, 'row 4, octets on the wire'],
    ['/foo/bar/%e3%83%84', '/foo/bar/%E3%83%84', true, true, 'hex in any case'],
    ['/foo/bar/%62%61%7A', '/foo/bar/baz', true, false, 'row 5'],
    ['/foo/bar/baz', '/foo/bar/%62%61%7a', true, false, 'row 5, the other way'],
    // 2.2.3
    ['/path/file-with-a-%2A.html', '/path/file-with-a-*.html', true, false, 'a star by itself'],
    ['/path/file-with-a-%2A.html', '/path/file-with-a-x.html', false, false, 'is not a star'],
    ['/path/foo-%24', '/path/foo-$', true, false, 'a dollar by itself'],
    ['/path/foo-%24', '/path/foo-%24x', true, true, 'is not an end'],
    ['/path/foo-$', '/path/foo-', true, true, 'the end'],
    ['/path/foo-$', '/path/foo-$', false, false, 'does not match a longer path'],
    ['/a$b', '/a$b', true, true, 'only the last $ is an end'],
    ['/a$$', '/a$', true, true, 'only the last of two'],
    ['/this/*/exactly', '/this/is/not/exactly/so', true, true, 'any sequence, slashes too'],
    ['/*/x', '/?u=/x', true, true, 'a star finds a slash in the query'],
    ['/*?x', '/a?b?x', true, true, 'and the second question mark'],
    ['/*%2Fb', '/a?x=%2Fb', true, true, 'and an encoded slash'],
    ['/a%2Fb', '/a/b', false, false, 'an encoded slash is not a slash'],
    ['/a/b', '/a%2fb', false, false, 'nor the other way round'],
    ['/a?b=c%26d', '/a?b=c&d', false, false, 'an encoded ampersand is not a separator'],
    ['/A', '/a', false, false, 'paths are case-sensitive'],
    ['/a[b]', '/a[b]', true, true, 'what encodeURI and URL encode differently'],
    ['/a|b', '/a%7Cb', true, false, 'the same character'],
    ['/a^b"<>`{}\\', '/a^b"<>`{}\\', true, true, 'any character'],
    ['/a b', '/a%20b', true, false, 'a space within'],
    ['/100%', '/100%', true, true, 'a per cent sign by itself'],
    ['/100%', '/100%25', true, true, 'is %25; for Google a prefix'],
    ['/100%zz', '/100%zz', true, true, 'no hex'],
    ["/a'b(c)!;,:@+", '/a%27b%28c%29%21%3B%2C%3A%40%2B', true, false, 'reserved characters'],
    ['/a/../b', '/b', false, false, 'segments of dots are compared as they stand'],
    ['/a/../b', '/a/../b', true, true, 'as they stand'],
    ['/a/%2e%2E/b', '/a/../b', true, false, 'a full stop is unreserved'],
    ['/a?', '/a?', true, true, 'an empty query'],
    ['/a?', '/a', false, false, 'is not the same as no query'],
    ['/a//b', '/a//b', true, true, 'two slashes'],
    ['/a//b', '/a/b', false, false, 'are not the same as one'],
    ['//x', '//x/y', true, true, 'nor at the start'],
    ['/a', 'a', true, true, 'a target without its slash'],
    ['a', '/a', false, false, 'a pattern without one'],
    ['*a', '/bca', true, true, 'a star first'],
    ['*', '/anything', true, true, 'a star alone'],
    ['*$', '/anything', true, true, 'and its end'],
    ['$', '/', false, false, 'no path is empty'],
    ['/$', '/', true, true, 'the root'],
    ['/$', '/a', false, false, 'only the root'],
    ['/*.gif$', '/a.gif.gif', true, true, 'the last of two'],
    ['/a*a$', '/a', false, false, 'parts do not overlap'],
    ['/a***b', '/ab', true, true, 'a run of stars'],
    ['/\xa0', '/%C2%A0', true, true, 'white space that is not ASCII is kept'],
  ]
  for (const [pattern, target, rfc, google, why] of rows)
    for (const [mode, expected] of [
      ['rfc', rfc],
      ['google', google],
    ] as const)
      t.equal(
        decided(text('User-agent: *', `Disallow: ${pattern}`), 'a', target, mode) < 0,
        expected,
        `${mode} ${pattern} ${target}: ${why}`,
      )
})

t.test('lets the heaviest rule decide, and names its line', async (t) => {
  const rows: [rules: string[], target: string, line: number, why: string][] = [
    [['Disallow: /a', 'Allow: /a'], '/a', 3, 'allow wins a tie'],
    [['Allow: /a$', 'Disallow: /a*'], '/a', 2, 'three octets each'],
    [['Disallow: /a*', 'Allow: /a'], '/ab', -2, 'a star is an octet'],
    [['Disallow: /a**', 'Allow: /ab'], '/abc', -2, 'and so is each of a run'],
    [['Disallow: /a', 'Disallow: /a'], '/a', -2, 'the first of equal rules'],
    [['Disallow: /caf\xe9', 'Allow: /caf%C3%A9*'], '/caf%C3%A9', 3, 'octets are counted encoded'],
    [['Allow: /x?u=/a', 'Disallow: /x?u=%2Fa'], '/x?u=/a', 2, 'two spellings of one URL tie'],
    [['Allow: /x?u=/a', 'Disallow: /x?u=%2Fa'], '/x?u=%2Fa', 2, 'in either'],
    [['Disallow: /x?u=/a', 'Allow: /x?u=**a'], '/x?u=/a', -2, 'a slash of the query counts as %2F: 10 octets beat 8'],
    [['Disallow:', 'Allow:'], '/a', 0, 'an empty path matches nothing'],
    [['Disallow:', 'Disallow: /a'], '/a', -3, 'and does not cancel other rules'],
    [['Allow: /*.html', 'Disallow: /p/'], '/p/a.html', 2, '7 octets beat 3'],
    [['Disallow: /*.html$', 'Allow: /p/a.html'], '/p/a.html', 3, '9 beat 8'],
    [['Disallow: /a.b', 'Allow: /a*b!'], '/a.b!', 3, 'a character that robots-parser does not decide about'],
  ]
  for (const [rules, target, line, why] of rows)
    t.equal(decided(text('User-agent: *', ...rules), 'a', target), line, `${rules.join(', ')} ${target}: ${why}`)
})

t.test('reads correctly what robots-parser 3.0.1 alone reads wrongly', async (t) => {
  const rows: [file: string, token: string, target: string, rfc: boolean, google: boolean, why: string][] = [
    ...['Sitemap: https://a.example/s.xml', 'Crawl-delay: 9', 'Content-Signal: ai-train=no', 'Nonsense: x'].map(
      (between): [string, string, string, boolean, boolean, string] => [
        text('User-agent: BarBot', between, 'User-agent: BazBot', 'Disallow: /'),
        'BarBot',
        '/',
        false,
        false,
        `${between} does not end a group`,
      ],
    ),
    [text('User-agent: GPTBot/1.2', 'Disallow: /'), 'GPTBot', '/', false, false, 'a version after the token'],
    [text('User-agent: Foo Bar', 'Disallow: /'), 'Foo', '/', false, false, 'the token is cut'],
    [text('User-agent: FooBot*', 'Disallow: /'), 'FooBot', '/', false, false, 'the token is cut'],
    [text('User-agent: AB42bot', 'Disallow: /'), 'AB', '/', true, false, 'at a digit by Google alone'],
    [text('User-agent: MJ12bot', 'Disallow: /'), 'MJ12bot', '/', false, true, 'a token that contains a digit'],
    [
      text('User-agent: Kangaroo Bot', 'Disallow: /'),
      'Kangaroo Bot',
      '/',
      false,
      true,
      'a token that contains a space',
    ],
    [text('User-agent: * all of you', 'Disallow: /'), 'a', '/', true, false, 'a star with text after it'],
    [text('User-agent: *bot', 'Disallow: /'), 'abot', '/', true, true, 'is not a pattern'],
    [text('useragent a', 'dissallow /'), 'a', '/', true, false, 'no colon, misspelt'],
    [text('user agent: a', 'diasllow: /'), 'a', '/', true, false, 'misspelt'],
    [text('User-agent: a', 'Disallow: / x y', 'disallow / x'), 'a', '/', true, true, 'three words are not a record'],
    [
      text('User-agent: *', 'Disallow: /', 'Allow: /d/index.html'),
      'a',
      '/d/',
      false,
      true,
      'index.html is the directory',
    ],
    [
      text('User-agent: *', 'Disallow: /', 'Allow: /d/index.html'),
      'a',
      '/d/x',
      false,
      false,
      'but not the files in it',
    ],
    [text('User-agent: *', 'Allow: /', 'Disallow: /d/index.html'), 'a', '/d/', true, true, 'only where allowed'],
    ['\xef\xbbUser-agent: a\nDisallow: /', 'a', '/', true, true, 'as text these octets are two letters'],
  ]
  for (const [file, token, target, rfc, google, why] of rows) {
    t.equal(allowed(file, token, target, 'rfc'), rfc, `rfc ${why}`)
    t.equal(allowed(file, token, target, 'google'), google, `google ${why}`)
  }
})

t.test('reads byte order marks, line ends and encodings as octets', async (t) => {
  const rows: [octets: string, rfc: number, google: number, why: string][] = [
    ['User-agent: a\nDisallow: /', -2, -2, 'LF'],
    ['User-agent: a\rDisallow: /', -2, -2, 'CR'],
    ['User-agent: a\r\nDisallow: /\r\n', -2, -2, 'CR LF'],
    ['\r\n\r\n\n\rUser-agent: a\r\r\nDisallow: /', -7, -7, 'any of them, counted as in an editor'],
    ['\xef\xbb\xbfUser-agent: a\nDisallow: /', -2, -2, 'a byte order mark'],
    ['\xef\xbbUser-agent: a\nDisallow: /', 0, -2, 'two thirds of one'],
    ['\xefUser-agent: a\nDisallow: /', 0, -2, 'a third'],
    ['\xbbUser-agent: a\nDisallow: /', 0, 0, 'the wrong third'],
    ['User-agent: a\nDisallow: /\n\xef\xbb\xbfAllow: /', -2, -2, 'a mark in another place'],
    ['User-agent: a\n\xff\xfe\x80\nDisallow: /\xff', 0, 0, 'invalid UTF-8 is octets like others'],
    ['User-agent: a\nDisallow: /\0x', 0, -2, 'Google ends the line at a NUL'],
    ['\0\0\0', 0, 0, 'only NUL'],
    ['\t User-agent \t:\v a \f\nDisallow\t:\t/ # all', -2, -2, 'white space and a comment'],
    ['U\0s\0e\0r\0', 0, 0, 'UTF-16'],
    [`User-agent: a\nDisallow: /${'x'.repeat(16_651)}\nDisallow: /`, -3, -3, 'a line of 16,663 octets'],
  ]
  for (const [octets, rfc, google, why] of rows) {
    const bytes = Buffer.from(octets, 'latin1')
    t.equal(decided(bytes, 'a', '/', 'rfc'), rfc, `rfc ${why}`)
    t.equal(decided(bytes, 'a', '/', 'google'), google, `google ${why}`)
  }
  t.equal(
    decided(Buffer.from('User-agent: a\nDisallow: /\xff', 'latin1'), 'a', '/%FF'),
    -2,
    'an octet that is not UTF-8',
  )
})

t.test('parses the whole file for the policy page', async (t) => {
  const robots = parseRobots(
    text(
      '# hello',
      'Disallow: /before',
      'User-agent: GPTBot',
      'Crawl-Delay: 2.5',
      'User-agent: CCBot # and this',
      'Content-Signal: search=yes, ai-input=no, ai-train=no, use=reference',
      'Content-Usage: train-ai=n',
      'Content-Usage: /press train-ai=y, x=y',
      'Disallow: /caf\xe9 ',
      'Allow:',
      'Sitemap: https://a.example/s.xml',
      'Crawl-delay: soon',
      'Content-Signal: nothing',
      'User-agent: *',
      'Dissallow: /typo',
      'disallow: private',
      'License: https://a.example/rsl',
      'what is this',
      'User-agent:',
    ),
  )
  t.same(robots, {
    groups: [
      {
        user_agents: ['GPTBot', 'CCBot'],
        rules: [
          { allow: false, pattern: '/caf\xe9', line: 9, octets: '/caf\xc3\xa9' },
          { allow: true, pattern: '', line: 10, octets: '' },
        ],
        line: 3,
        crawl_delay: 2.5,
        content_signals: { search: 'yes', 'ai-input': 'no', 'ai-train': 'no', use: 'reference' },
        content_usage: [
          { pattern: '/', preferences: { 'train-ai': 'n' }, line: 7 },
          { pattern: '/press', preferences: { 'train-ai': 'y', x: 'y' }, line: 8 },
        ],
      },
      { user_agents: ['*'], rules: [{ allow: false, pattern: 'private', line: 16, octets: 'private' }], line: 14 },
      { user_agents: [''], rules: [], line: 19 },
    ],
    sitemaps: ['https://a.example/s.xml'],
    licenses: [{ url: 'https://a.example/rsl', line: 17 }],
    problems: [
      { line: 2, problem: 'comes before the first User-agent and applies to no agent' },
      { line: 5, problem: 'joins the group of line 3: only Allow or Disallow ends a list of user agents' },
      { line: 12, problem: 'this crawl-delay cannot be read' },
      { line: 13, problem: 'this content-signal cannot be read' },
      { line: 15, problem: 'is not Disallow, although Google reads it as such' },
      { line: 16, problem: 'a path that does not begin with / or * matches nothing' },
      { line: 18, problem: 'neither a record nor a comment' },
      { line: 19, problem: 'names no user agent' },
    ],
    truncated: false,
  })
  t.same(parseRobots(''), { groups: [], sitemaps: [], licenses: [], problems: [], truncated: false })
  const rows: [body: string | Buffer, line: number | undefined, problem: RegExp | undefined, why: string][] = [
    ['<!DOCTYPE html>\n<pre>\nUser-agent: *\nDisallow: /', 4, /^begins as HTML/, 'HTML is read line by line'],
    ['<html><body>\n<a href="https://a.example/">x</a>\n', undefined, /^begins as HTML/, 'an HTML page has no rules'],
    [' <?xml version="1.0"?>\r\nUser-agent: *\r\nDisallow: /', 3, /^begins as HTML/, 'XML'],
    [Buffer.from('\xef\xbb\xbfUser-agent: *\nDisallow: /', 'latin1'), 2, undefined, 'a byte order mark'],
    [Buffer.from('\xff\xd8\0\x01:\nUser-agent: *\nDisallow: /', 'latin1'), 3, /NUL/, 'binary octets before the rules'],
    [Buffer.from('\ufeffUser-agent: *\nDisallow: /', 'utf16le'), undefined, /UTF-16/, 'UTF-16'],
  ]
  for (const [body, line, problem, why] of rows) {
    const { groups, problems } = parseRobots(body)
    t.equal(groups.flatMap(({ rules }) => rules)[0]?.line, line, why)
    if (problem === undefined) t.same(problems, [], why)
    else t.match(problems[0]?.problem, problem, why)
  }
  const cloudflare = parseRobots(
    text(
      'User-agent: *',
      'Content-Signal: search=yes,ai-train=no',
      'Allow: /',
      '',
      'User-agent: Amazonbot',
      'Disallow: /',
    ),
  )
  t.same(
    cloudflare.groups.map(({ user_agents, rules }) => [user_agents, rules.length]),
    [
      [['*'], 1],
      [['Amazonbot'], 1],
    ],
    'the Allow of a managed block ends its group',
  )
})
