import t from 'tap'
import { ApiError } from '../../src/base/errors.js'
import { NewRedirect, normaliseRedirect, type Redirect } from '../../src/manage/redirects.js'

const stored = (name: string, target: string, id: number): Redirect & { id: number; version: number } => ({
  ...{ id, version: 1, site: 1, name, target, status: 301, created_at: new Date(0), created_by: { name: 'operator' } },
})
const OTHERS = [stored('/b', '/c', 1), stored('/c', 'https://site.example/a', 2), stored('/x', '/x2', 3)]

/** Returns what is stored, or the field that is refused. */
function check(from: string, to: string, domains: readonly string[] = ['site.example']): string {
  const parsed = NewRedirect.safeParse({ site: 1, from, to })
  if (!parsed.success) return `refused: ${parsed.error.issues[0]?.path.join('.')}`
  try {
    const { name, target } = normaliseRedirect(parsed.data, { others: OTHERS, domains })
    return `${name} ${target}`
  } catch (error) {
    if (error instanceof ApiError) return `refused: ${error.field}`
    throw error
  }
}

t.test('which redirects are accepted, and as what', async (t) => {
  const rows: [from: string, to: string, expected: string, why: string][] = [
    ['/old', '/new', '/old /new', 'two paths'],
    ['/old', '/new?x=1#y', '/old /new?x=1#y', 'a target with a query'],
    ['/old page', '/new page', '/old%20page /new%20page', 'encoded'],
    ['/%6Fld', '/ü', '/old /%C3%BC', 'one spelling'],
    ['/old', 'https://other.example/x', '/old https://other.example/x', 'another host'],
    ['/old', 'HTTP://other.example', '/old http://other.example/', 'a URL without a path'],
    ['/old', '/a/../new', '/old /new', 'dots'],
    ['old', '/new', 'refused: from', 'no slash'],
    ['/old?x=1', '/new', 'refused: from', 'a query'],
    ['', '/new', 'refused: from', 'nothing'],
    ['/old\r\n', '/new', 'refused: from', 'a line break'],
    ['/old', '/new\r\nSet-Cookie: a=b', 'refused: to', 'a header'],
    ['/old', '/new\u0000', 'refused: to', 'a control character'],
    ['/old', 'new', 'refused: to', 'neither a path nor a URL'],
    ['/old', '//other.example/x', 'refused: to', 'another host as a path'],
    ['/old', '/\\other.example', 'refused: to', 'which a browser reads as another host'],
    ['/old', '/.//other.example', 'refused: to', 'so is this after its dots'],
    ['/old', 'javascript:alert(1)', 'refused: to', 'a script'],
    ['/old', 'https:other.example', 'refused: to', 'a URL without slashes'],
    ['/old', 'https://user:word@other.example/', 'refused: to', 'a password'],
    ['/old', `/${'x'.repeat(2_000)}`, 'refused: to', 'too long'],
    ['/old', '/old', 'refused: to', 'itself'],
    ['/old', '/%6fld?x=1', 'refused: to', 'itself, spelt otherwise'],
    ['/old', 'https://site.example/old', 'refused: to', "itself, by the site's hostname"],
    ['/a', '/b', 'refused: to', 'through two others'],
    ['/a', '/c', 'refused: to', 'through one other'],
    ['/d', '/b', '/d /b', 'a chain that does not lead back'],
    ['/x2', '/x', 'refused: to', 'and back'],
  ]
  for (const [from, to, expected, why] of rows) t.equal(check(from, to), expected, why)
  t.equal(check('/old', 'https://any.example/old', []), 'refused: to', 'a site without domains has every hostname')
})
