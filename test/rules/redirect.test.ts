import t from 'tap'
import { canonicalPath, indexRedirects, redirectOf } from '../../src/rules/redirect.js'

t.test('where a missing page leads', async (t) => {
  const redirects = indexRedirects([
    { from: '/old', to: '/new', status: 301 },
    { from: '/with', to: '/new?a=1', status: 302 },
    { from: '/part', to: '/new#part', status: 307 },
    { from: '/away', to: 'https://other.example/away', status: 308 },
    { from: '/%C3%BCber', to: '/ueber', status: 301 },
    { from: '/own', to: 'http://site.example/own', status: 301 },
  ])
  const rows: [target: string, expected: [number, string] | undefined, why: string][] = [
    ['/old', [301, '/new'], 'a path'],
    ['/old?x=1&y=%20', [301, '/new?x=1&y=%20'], 'the query is kept'],
    ['/old?', [301, '/new'], 'an empty query'],
    ['/with?x=1', [302, '/new?a=1'], "the redirect's own query"],
    ['/part?x=1', [307, '/new?x=1#part'], 'before the fragment'],
    ['/away?x=1', [308, 'https://other.example/away?x=1'], 'another host'],
    ['/%6Fld', [301, '/new'], 'a letter that is percent-encoded'],
    ['/%c3%bcber', [301, '/ueber'], 'digits of another case'],
    ['/über', [301, '/ueber'], 'not encoded'],
    ['/old/', undefined, 'another path'],
    ['/Old', undefined, 'other letters'],
    ['/old?x=\r\nSet-Cookie:a', [301, '/new'], 'a query with a line break is left out'],
    ['/old?x=ü', [301, '/new'], 'as is one that no header can have'],
    ['/own', undefined, 'leads back to the page'],
    ['*', undefined, 'no path'],
  ]
  for (const [target, expected, why] of rows) {
    const found = redirectOf(redirects, { target, host: 'site.example' })
    t.strictSame(found && [found.status, found.location], expected, why)
  }
  t.strictSame(redirectOf(redirects, { target: '/own', host: 'www.site.example' })?.status, 301, 'of another host')
})

t.test('one spelling of a path', async (t) => {
  const rows: [path: string, expected: string][] = [
    ['/a-b_c.d~e', '/a-b_c.d~e'],
    ['/%61%2D%5f%2e%7E', '/a-_.~'],
    ['/%2f%3f', '/%2F%3F'],
    ['/a b"<>{}', '/a%20b%22%3C%3E%7B%7D'],
    ['/\ud800', '/%EF%BF%BD'],
    ['/%zz', '/%zz'],
  ]
  for (const [path, expected] of rows) t.equal(canonicalPath(path), expected)
})
