import t from 'tap'
import { errorFingerprint } from '../../../src/worker/ingest/error-fingerprint.js'

const of = (message: string, frame: string | null = null, type = 'Error') => errorFingerprint({ type, message, frame })

const messages: [one: string, other: string, same: boolean, why: string][] = [
  ['Order 4711 is gone', 'Order 12 is gone', true, 'a number'],
  ['took 1.5 s', 'took 1,234.75 s', true, 'with a fraction, or thousands'],
  ['at offset -3', 'at offset 3', true, 'with a sign'],
  ['got 1e21', 'got 7', true, 'or an exponent'],
  ['got ٣', 'got 3', true, 'in other digits'],
  ['row 12345678', 'row 1234567a', true, 'an id is all digits one day and hex the next'],
  ['object 507f1f77bcf86cd799439011 gone', 'object 507f191e810c19729de860ea gone', true, "a database's id"],
  ['token deadbeef bad', 'token 0badf00d bad', true, 'hex without a digit'],
  ['address 0x7ffe', 'address 0xA', true, 'hex with its prefix'],
  ['the facade broke', 'the decade broke', false, 'words of the letters a to f are words'],
  [
    'no user 123e4567-e89b-12d3-a456-426614174000',
    'no user 00000000-0000-4000-8000-00000000000A',
    true,
    'a uuid, whatever its case',
  ],
  ['session V1StGXR8_Z5jdHi6B_myT over', 'session 9f_AbCdEfGhIjKlMnOpQr over', true, 'a long id'],
  ['GET https://a.example/x?t=1&u=2#top failed', 'GET https://a.example/x failed', true, "a URL's query and fragment"],
  ['GET /x?a=(b) failed', 'GET /x?a=(c) failed', true, "a path's query"],
  ['GET /users/12/edit', 'GET /users/9/edit', true, 'an id in a path'],
  ['GET https://a.example/x', 'GET https://a.example/y', false, 'another path'],
  ['what? no', 'what', false, 'a question mark that begins no query'],
  ["reading 'name'", "reading 'id'", true, 'a quoted value'],
  ['reading "a b"', 'reading ""', true, 'in double quotes, with a space, or empty'],
  ['reading `x`', 'reading `y`', true, 'in backticks'],
  ['lesen von „eins“', 'lesen von „zwei“', true, 'in German quotes'],
  ["can't open x, isn't there", "can't close x, isn't there", false, 'apostrophes are not quotes'],
  ["can't find 'x'", "can't find 'y'", true, 'beside an apostrophe'],
  ['Uncaught TypeError: x is not a function', 'x is not a function', true, 'the prefix of window.onerror'],
  ['Uncaught (in promise) TypeError: x is not a function', 'x is not a function', true, 'from a promise'],
  ['a  b\n c', 'a b c', true, 'white space differs'],
  ['a is not defined', 'b is not defined', false, 'a name that is not quoted'],
  ['', ' ', true, 'nothing'],
  [`${'x'.repeat(3000)}a`, `${'x'.repeat(3000)}b`, true, 'differences beyond the bound'],
]

const TOP = 'at send (https://example.com/assets/app.3f9a1c.js:1:2345)'
const frames: [one: string | null, other: string | null, same: boolean, why: string][] = [
  ['app.3f9a1c.js:1:2345', 'app.77b0e2.js:1:2399', true, 'hash and column change with each deploy'],
  [TOP, 'at send (https://example.com/assets/app.1234567.js:2:1)', true, 'a hash of digits alone'],
  [TOP, 'send@https://example.com/assets/app.deadbe.js:1:5', true, "the same in Firefox's words"],
  [TOP, 'at async Api.send (https://www.example.com/assets/app.3f9a1c.js?v=2:1:5)', true, 'awaited, as a method'],
  [TOP, 'at load (https://example.com/assets/app.3f9a1c.js:1:2345)', false, 'another function'],
  [TOP, 'at send (https://example.com/assets/vendor.3f9a1c.js:1:2345)', false, 'another file'],
  [TOP, 'at send (https://cdn.example/assets/app.3f9a1c.js:1:2345)', false, 'another host'],
  ['at t (/app.js:1:2)', 'at rn (/app.js:1:2)', true, 'minified names change with each deploy'],
  ['/assets/index-BxY3z_kQ.js:1:2', '/assets/index-D-a_k3Zx.js:1:2', true, 'base64, with a dash in it'],
  ['/assets/index-BxYzKlMn.js:1:2', '/assets/index-BxY3z_kQ.js:1:2', true, 'without a digit'],
  ['/UserProfile-BxY3z_kQ.js', '/UserSettings-BxY3z_kQ.js', false, 'words are kept'],
  ['/user-profile.js', '/user-settings.js', false, 'words of eight letters are kept'],
  ['/vue@3.4.1/dist/vue.js:1:2', '/vue@3.5.0/dist/vue.js:9:9', true, 'a version'],
  ['/users/12:10:5', '/users/13:11:6', true, 'a script in a page'],
  [
    'at eval (eval at <anonymous> (https://x.example/a.js:1:234), <anonymous>:1:1)',
    'at eval (eval at <anonymous> (https://x.example/a.js:9:999), <anonymous>:2:2)',
    true,
    'evaluated',
  ],
  [null, 'app.js:1:1', false, 'no stack differs from any stack'],
]

t.test('equal errors have the same fingerprint', async (t) => {
  t.match(of('x'), /^[0-9a-f]{16}$/)
  for (const [one, other, same, why] of messages) {
    t.equal(of(one, null, 'TypeError') === of(other, null, 'TypeError'), same, why)
  }
  for (const [one, other, same, why] of frames) t.equal(of('x', one) === of('x', other), same, why)
  t.not(of('x', null, 'TypeError'), of('x', null, 'RangeError'), 'another type')
  t.not(of('b', null, 'a'), of('', 'b', 'a'), 'parts are kept apart')
})

// Any client can send errors, with texts of its choice. An attacker repeats a character that makes a regular expression
// backtrack: quotes, slashes, digits, dots, brackets. Each pattern is therefore written so that it matches a text in one
// way only, and at most 2,000 characters of a message and 500 of a frame are read. This test repeats 17 such parts
// 100,000 times and allows 20 ms of CPU time for each fingerprint.
t.test('hostile messages and frames cost little time', async (t) => {
  const hostile = [
    "'",
    '"\\"',
    '/',
    '-',
    'at ',
    'aB',
    ' ',
    '1.',
    '1e',
    "' a",
    '(',
    'uncaught ',
    '@',
    'abcdef',
    '“',
    '\0',
    '😀',
  ]
  for (const part of hostile) {
    const text = part.repeat(100_000)
    const began = process.cpuUsage()
    for (let i = 0; i < 5; i++) errorFingerprint({ type: text, message: text, frame: `at ${text}` })
    const { user } = process.cpuUsage(began)
    t.ok(user < 100_000, `${JSON.stringify(part)}: ${user} us`)
  }
})
