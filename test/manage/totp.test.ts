import t from 'tap'
import { base32, codeAtStep, findStep, totpUri } from '../../src/manage/accounts/totp.js'
import { totpCode } from '../fixtures/authenticator.js'

/** The secret of RFC 6238 appendix B. */
const SECRET = base32(Buffer.from('12345678901234567890'))

t.test('base32 agrees with RFC 4648 10, without padding', async (t) => {
  const rows: [string, string][] = [
    ['', ''],
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foo', 'MZXW6'],
    ['foob', 'MZXW6YQ'],
    ['fooba', 'MZXW6YTB'],
    ['foobar', 'MZXW6YTBOI'],
    ['12345678901234567890', 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'],
  ]
  for (const [bytes, text] of rows) t.equal(base32(Buffer.from(bytes)), text)
})

t.test('codes agree with RFC 6238 appendix B, in their last six digits', async (t) => {
  const rows: [number, string][] = [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ]
  for (const [seconds, code] of rows) {
    t.equal(codeAtStep(SECRET, Math.floor(seconds / 30)), code, `at ${seconds}`)
    t.equal(totpCode(SECRET, new Date(seconds * 1_000)), code, 'and by the generator of these tests')
  }
})

t.test('a code is accepted one step early or late, and never twice', async (t) => {
  // 1_234_567_890 lies in step 41_152_263.
  const at = new Date(1_234_567_890_000)
  const code = (step: number) => totpCode(SECRET, new Date(step * 30_000))
  const rows: [string, number | null, number | undefined, string][] = [
    ['005924', null, 41_152_263, 'of now'],
    [code(41_152_262), null, 41_152_262, 'a step late'],
    [code(41_152_264), null, 41_152_264, 'a step early'],
    [code(41_152_261), null, undefined, 'two steps late'],
    [code(41_152_265), null, undefined, 'two steps early'],
    ['005924', 41_152_263, undefined, 'accepted before'],
    ['005924', 41_152_264, undefined, 'a later one was accepted before'],
    ['005924', 41_152_262, 41_152_263, 'the one before it was accepted'],
    ['005925', null, undefined, 'another'],
    ['', null, undefined, 'none'],
    ['0059240', null, undefined, 'too long'],
    ['00592', null, undefined, 'too short'],
  ]
  for (const [code, last, step, why] of rows) t.equal(findStep(SECRET, code, at, last), step, why)
})

t.test('the URI names secret, account and issuer', async (t) => {
  const url = new URL(totpUri(SECRET, 'a+b@example.com', 'readership'))
  t.equal(url.protocol, 'otpauth:')
  t.equal(decodeURIComponent(url.pathname), '/readership:a+b@example.com')
  t.same(Object.fromEntries(url.searchParams), {
    ...{ secret: SECRET, issuer: 'readership', algorithm: 'SHA1', digits: '6', period: '30' },
  })
})
