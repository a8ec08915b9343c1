import {
  constants,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { loadCatalog, parseCatalog } from '../../src/agents/catalog.js'
import { checkSignatures, createNonces, originOf } from '../../src/agents/signature/check.js'
import { Jwk, readDirectory, readKeys, thumbprint, verifySignature } from '../../src/agents/signature/keys.js'
import { createSignatures } from '../../src/agents/signature/signatures.js'
import type { VerifiableRequest } from '../../src/agents/verdict.js'
import type { Outbound } from '../../src/outbound/outbound.js'

/** Seconds; the table's requests arrive at it. */
const AT = 1_790_000_000
const folder = mkdtempSync(join(tmpdir(), 'readership-signature-'))
t.teardown(() => rmSync(folder, { recursive: true }))

// Two operators with a directory each, and one of them with two kinds of keys.
const entry = (id: string, web_bot_auth: object) => ({
  id,
  name: id,
  operator: id,
  purpose: 'other',
  ua_tokens: [],
  ua_match: 'signature-only',
  robots_only: false,
  honors_wildcard_group: true,
  respects_robots: 'unknown',
  client_side: false,
  status: 'active',
  web_bot_auth,
})
const catalog = parseCatalog(
  JSON.stringify({
    meta: { generated: '2026-11-21' },
    agents: [
      entry('alice', {
        signature_agent: 'https://alice.test',
        directory: 'https://alice.test/keys',
        status: 'documented',
      }),
      entry('bob', { signature_agent: 'https://bob.test', directory: null, status: 'listed' }),
      entry('cloud', { signature_agent: 'https://<id>.cloud.test', directory: null, status: 'preview' }),
    ],
  }),
)
const alice = generateKeyPairSync('ed25519')
const aliceRsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const bob = generateKeyPairSync('ed25519')
const stranger = generateKeyPairSync('ed25519')
const jwkOf = (key: KeyObject) => ({ ...key.export({ format: 'jwk' }), kid: 'never looked at' })
/** RFC 7638 by hand: the required members in the order of the alphabet. */
function keyid(key: KeyObject): string {
  const { kty, x, n, e } = key.export({ format: 'jwk' })
  const text = kty === 'OKP' ? `{"crv":"Ed25519","kty":"OKP","x":"${x}"}` : `{"e":"${e}","kty":"RSA","n":"${n}"}`
  return createHash('sha256').update(text).digest('base64url')
}
const DIRECTORIES: Record<string, unknown> = {
  'https://alice.test/keys': { keys: [jwkOf(alice.publicKey), jwkOf(aliceRsa.publicKey)] },
  'https://bob.test/.well-known/http-message-signatures-directory': { keys: [jwkOf(bob.publicKey)] },
}
const outbound: Outbound = async (url) => ({
  url,
  status: 200,
  headers: { 'content-type': 'application/http-message-signatures-directory+json' },
  body: Buffer.from(JSON.stringify(DIRECTORIES[url])),
  truncated: false,
})
async function signatures(options: { clock?: () => number } = {}) {
  const made = createSignatures({
    catalog,
    outbound,
    file: join(mkdtempSync(join(folder, 'run-')), 'directories.json'),
    now: () => AT * 1000,
    random: () => 0.5,
    after: () => () => {},
    log: { warn: () => t.fail('nothing to warn of') },
    ...options,
  })
  await made.refresh()
  return made
}

/** A signer that knows nothing of the code under test: lines by hand, RFC 9421 2.5. */
interface Signing {
  label?: string
  /** Component identifier and value as signed. */
  lines?: [string, string][]
  params?: Record<string, string | number | undefined>
  key?: { publicKey: KeyObject; privateKey: KeyObject }
  salt?: number
  agent?: string | undefined
  request?: Partial<VerifiableRequest>
  without?: 'query' | 'signed'
  headers?: Record<string, string>
}
const A = '"signature-agent";key="sig1"'
const LINES: [string, string][] = [
  ['"@authority"', 'site.example'],
  [A, '"https://alice.test"'],
]
function fieldsOf({ label = 'sig1', lines = LINES, params = {}, key = alice, salt = 64 }: Signing) {
  const all: Record<string, string | number | undefined> = {
    created: AT - 10,
    keyid: `"${keyid(key.publicKey)}"`,
    alg: key.publicKey.asymmetricKeyType === 'rsa' ? '"rsa-pss-sha512"' : '"ed25519"',
    expires: AT + 300,
    tag: '"web-bot-auth"',
    ...params,
  }
  const written = Object.entries(all).filter(([, value]) => value !== undefined)
  const list = `(${lines.map(([identifier]) => identifier).join(' ')})${written.map(([name, value]) => `;${name}=${value}`).join('')}`
  const base = [...lines.map(([identifier, value]) => `${identifier}: ${value}`), `"@signature-params": ${list}`].join(
    '\n',
  )
  const data = Buffer.from(base, 'latin1')
  const bytes =
    key.publicKey.asymmetricKeyType === 'rsa'
      ? sign('sha512', data, { key: key.privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: salt })
      : sign(null, data, key.privateKey)
  return { input: `${label}=${list}`, signature: `${label}=:${bytes.toString('base64')}:` }
}
function request(signing: Signing = {}): VerifiableRequest {
  const { input, signature } = fieldsOf(signing)
  const agent = 'agent' in signing ? signing.agent : 'sig1="https://alice.test"'
  const made: VerifiableRequest = {
    method: 'GET',
    hostname: 'site.example',
    pathname: '/a%20b/',
    query: 'q=1&r',
    ip: '192.0.2.1',
    user_agent: 'Mozilla/5.0',
    signed: { scheme: 'https', authority: 'Site.Example', target: '/a%20b/?q=1&r' },
    ...signing.request,
    headers: {
      'signature-input': input,
      signature,
      ...(agent !== undefined && { 'signature-agent': agent }),
      ...signing.headers,
    },
  }
  if (signing.without !== undefined) delete made[signing.without]
  return made
}
const at = (seconds: number) => seconds * 1000

t.test('what a signature says', async (t) => {
  const made = await signatures()
  const line = (identifier: string, value: string): [string, string] => [identifier, value]
  const BARE: [string, string][] = [
    ['"@authority"', 'site.example'],
    ['"signature-agent"', '"https://alice.test"'],
  ]
  const also = (...more: [string, string][]) => ({ lines: [...LINES, ...more] })
  const rows: [what: string, signing: Signing, expected: string, seconds?: number][] = [
    ['dictionary, Ed25519', {}, 'valid alice'],
    ['dictionary, RSA-PSS', { key: aliceRsa }, 'valid alice'],
    ['alg may be left out', { params: { alg: undefined } }, 'valid alice'],
    ['bare string', { lines: BARE, agent: '"https://alice.test"' }, 'valid alice'],
    [
      'bare string with a slash',
      {
        lines: [line('"@authority"', 'site.example'), line('"signature-agent"', '"https://alice.test/"')],
        agent: '"https://alice.test/"',
      },
      'valid alice',
    ],
    [
      'no quotation marks',
      {
        lines: [line('"@authority"', 'site.example'), line('"signature-agent"', 'https://alice.test')],
        agent: 'https://alice.test',
      },
      'valid alice',
    ],
    [
      'the member need not have the label',
      {
        lines: [line('"@authority"', 'site.example'), line('"signature-agent";key="x"', '"https://alice.test"')],
        agent: 'x="https://alice.test"',
      },
      'valid alice',
    ],
    [
      'a directory by its well-known place',
      {
        key: bob,
        lines: [line('"@authority"', 'site.example'), line(A, '"https://bob.test"')],
        agent: 'sig1="https://bob.test"',
      },
      'valid bob',
    ],
    [
      'other case and port of the same origin',
      {
        lines: [line('"@authority"', 'site.example'), line(A, '"https://ALICE.test:443"')],
        agent: 'sig1="https://ALICE.test:443"',
      },
      'valid alice',
    ],
    [
      'type=directory said',
      {
        lines: [line('"@authority"', 'site.example'), line(A, '"https://alice.test";type=directory')],
        agent: 'sig1="https://alice.test";type=directory',
      },
      'valid alice',
    ],
    [
      'whole dictionary of one covered',
      {
        lines: [line('"@authority"', 'site.example'), line('"signature-agent"', 'x="https://alice.test"')],
        agent: 'x="https://alice.test"',
      },
      'valid alice',
    ],
    ['another member beside', { agent: 'b="https://bob.test", sig1="https://alice.test"' }, 'valid alice'],
    [
      '@target-uri in place of @authority',
      { lines: [line('"@target-uri"', 'https://site.example/a%20b/?q=1&r'), line(A, '"https://alice.test"')] },
      'valid alice',
    ],
    [
      'the default port is no part of an authority',
      { request: { signed: { scheme: 'https', authority: 'site.example:443', target: '/' } } },
      'valid alice',
    ],
    [
      'another is',
      {
        lines: [line('"@authority"', 'site.example:8443'), line(A, '"https://alice.test"')],
        request: { signed: { scheme: 'https', authority: 'site.example:8443', target: '/' } },
      },
      'valid alice',
    ],
    [
      'every component we know',
      also(
        line('"@method"', 'GET'),
        line('"@scheme"', 'https'),
        line('"@path"', '/a%20b/'),
        line('"@query"', '?q=1&r'),
        line('"@request-target"', '/a%20b/?q=1&r'),
        line('"user-agent"', 'Mozilla/5.0'),
        line('"host"', 'Site.Example'),
      ),
      'valid alice',
    ],
    ['no query', { ...also(line('"@query"', '?')), without: 'query' }, 'valid alice'],
    [
      'an observed field',
      { ...also(line('"accept"', 'text/html, */*')), headers: { accept: ' text/html, */*' } },
      'valid alice',
    ],
    [
      'TLS ended in front of us',
      {
        ...also(line('"@scheme"', 'https')),
        request: { signed: { scheme: 'http', authority: 'site.example', target: '/' } },
      },
      'valid alice',
    ],
    ['created a little ahead of our clock', { params: { created: AT + 50 } }, 'valid alice'],
    ['the last second of it', {}, 'valid alice', AT + 299],
    ['a whole day', { params: { created: AT - 10, expires: AT - 10 + 86_400 } }, 'valid alice'],

    ['no signature', { headers: { 'signature-input': '' } }, 'none'],
    ['another tag', { params: { tag: '"web-bot-auth-2"' } }, 'none'],
    ['a tag that only looks so', { params: { tag: 'web-bot-auth' } }, 'none'],
    ['no tag, but in a nonce', { params: { tag: undefined, nonce: '"web-bot-auth"' } }, 'none'],

    ['expired', {}, 'invalid expired', AT + 300],
    ['not yet', {}, 'invalid created_in_future', AT - 71],
    ['over a day', { params: { expires: AT - 10 + 86_401 } }, 'invalid window_too_long'],
    ['expires before it is created', { params: { created: AT, expires: AT } }, 'invalid expires_before_created'],
    ['no created', { params: { created: undefined } }, 'invalid created_missing'],
    ['no expires', { params: { expires: undefined } }, 'invalid expires_missing'],
    ['no keyid', { params: { keyid: undefined } }, 'invalid keyid_missing'],
    ['created is no integer', { params: { created: `${AT - 10}.5` } }, 'invalid malformed'],
    ['created is a date', { params: { created: `@${AT - 10}` } }, 'invalid malformed'],
    ['keyid is no string', { params: { keyid: 'abc' } }, 'invalid malformed'],
    [
      'authority not covered',
      { lines: [line('"@path"', '/a%20b/'), line(A, '"https://alice.test"')] },
      'invalid authority_not_covered',
    ],
    ['nothing covered', { lines: [] }, 'invalid authority_not_covered'],
    ['agent not covered', { lines: [line('"@authority"', 'site.example')] }, 'invalid signature_agent_not_covered'],
    [
      'bare agent not covered',
      { lines: [line('"@authority"', 'site.example')], agent: '"https://alice.test"' },
      'invalid signature_agent_not_covered',
    ],
    ['a bare string has no members', { agent: '"https://alice.test"' }, 'invalid signature_agent_not_covered'],
    [
      'signed for another site',
      { lines: [line('"@authority"', 'evil.example'), line(A, '"https://alice.test"')] },
      'invalid signature_mismatch',
    ],
    [
      'and sent with its Host',
      { request: { signed: { scheme: 'https', authority: 'evil.example', target: '/' } } },
      'invalid signature_mismatch',
    ],
    ['signed for another path', also(line('"@path"', '/b')), 'invalid signature_mismatch'],
    ['path decoded', also(line('"@path"', '/a b/')), 'invalid signature_mismatch'],
    ['another method', also(line('"@method"', 'POST')), 'invalid signature_mismatch'],
    ['http signed, https used', also(line('"@scheme"', 'http')), 'invalid signature_mismatch'],
    ['another user agent', also(line('"user-agent"', 'curl/8')), 'invalid signature_mismatch'],
    [
      'another port',
      { request: { signed: { scheme: 'https', authority: 'site.example:444', target: '/' } } },
      'invalid signature_mismatch',
    ],
    [
      'port 80 is none of https',
      { request: { signed: { scheme: 'https', authority: 'site.example:80', target: '/' } } },
      'invalid signature_mismatch',
    ],
    [
      "another's key under the name of alice",
      { key: stranger, params: { keyid: `"${keyid(alice.publicKey)}"` } },
      'invalid signature_mismatch',
    ],
    ['a key of nobody', { key: stranger }, 'invalid key_unknown'],
    ["bob's key in alice's directory", { key: bob }, 'invalid key_unknown'],
    [
      "alice's key in bob's directory",
      {
        lines: [line('"@authority"', 'site.example'), line(A, '"https://bob.test"')],
        agent: 'sig1="https://bob.test"',
      },
      'invalid key_unknown',
    ],
    ['the kid is not the key', { params: { keyid: '"never looked at"' } }, 'invalid key_unknown'],
    ['padded thumbprint', { params: { keyid: `"${keyid(alice.publicKey)}="` } }, 'invalid key_unknown'],
    ['a shorter salt', { key: aliceRsa, salt: 32 }, 'invalid signature_mismatch'],
    ['alg of another key', { params: { alg: '"rsa-pss-sha512"' } }, 'invalid alg_mismatch'],
    ['alg that is weaker', { key: aliceRsa, params: { alg: '"rsa-v1_5-sha256"' } }, 'invalid alg_mismatch'],
    ['shared secret', { params: { alg: '"hmac-sha256"' } }, 'invalid alg_mismatch'],
    ['agent swapped after signing', { agent: 'sig1="https://bob.test"', key: bob }, 'invalid signature_mismatch'],
    ['covered twice', also(line('"@authority"', 'site.example')), 'invalid component_repeated'],
    [
      'member that is not there',
      also(line('"signature-agent";key="z"', '"https://alice.test"')),
      'invalid component_missing',
    ],
    ['of a response', also(line('"@status"', '200')), 'invalid component_of_response'],
    ['of a request in a response', also(line('"@method";req', 'GET')), 'invalid component_of_response'],
    ['upper case', also(line('"Accept"', '*/*')), 'invalid malformed'],
    ['key on a derived one', also(line('"@path";key="a"', '/')), 'invalid malformed'],
    ['no Signature', { headers: { signature: '' } }, 'invalid malformed'],
    ['another label', { headers: { signature: 'sig2=:AAAA:' } }, 'invalid malformed'],
    ['Signature is text', { headers: { signature: 'sig1="abc"' } }, 'invalid malformed'],
    ['no bytes', { headers: { signature: 'sig1=::' } }, 'invalid signature_mismatch'],
    ['Signature-Input is no dictionary', { headers: { 'signature-input': '"web-bot-auth"' } }, 'invalid malformed'],
    ['Signature-Input is no list', { headers: { 'signature-input': 'sig1;tag="web-bot-auth"' } }, 'invalid malformed'],
    ['not ASCII', { ...also(line('"accept"', 'caf\u00e9')), headers: { accept: 'caf\u00e9' } }, 'invalid not_ascii'],
    [
      'a letter that would lose its high byte',
      { request: { signed: { scheme: 'https', authority: '\u0173ite.example', target: '/' } } },
      'invalid not_ascii',
    ],

    ['no Signature-Agent', { agent: undefined }, 'undecidable signature_agent_missing'],
    [
      'an agent nobody knows',
      {
        lines: [line('"@authority"', 'site.example'), line(A, '"https://evil.test"')],
        agent: 'sig1="https://evil.test"',
      },
      'undecidable directory_unknown',
    ],
    [
      'more than an origin',
      {
        lines: [line('"@authority"', 'site.example'), line(A, '"https://alice.test/x"')],
        agent: 'sig1="https://alice.test/x"',
      },
      'undecidable directory_unknown',
    ],
    [
      'user@host',
      {
        lines: [line('"@authority"', 'site.example'), line(A, '"https://alice.test@evil.test"')],
        agent: 'sig1="https://alice.test@evil.test"',
      },
      'undecidable directory_unknown',
    ],
    [
      'another type of directory',
      {
        lines: [line('"@authority"', 'site.example'), line(A, '"https://alice.test";type=cimd')],
        agent: 'sig1="https://alice.test";type=cimd',
      },
      'undecidable directory_unknown',
    ],
    [
      'two members and neither has the label',
      {
        lines: [
          line('"@authority"', 'site.example'),
          line('"signature-agent"', 'a="https://alice.test", b="https://bob.test"'),
        ],
        agent: 'a="https://alice.test", b="https://bob.test"',
      },
      'undecidable directory_unknown',
    ],
    ['a field we do not observe', also(line('"content-digest"', 'sha-256=:AA==:')), 'undecidable unobserved_component'],
    ['a component we do not know', also(line('"@query-param";name="q"', '1')), 'undecidable unsupported_component'],
    [
      'lines apart',
      { ...also(line('"accept";bs', ':Kg==:')), headers: { accept: '*' } },
      'undecidable unsupported_component',
    ],
    ['not observed closely enough', { without: 'signed' }, 'undecidable unobserved_component'],
    [
      'a field that may have been cut',
      { ...also(line('"accept"', 'a'.repeat(8192))), headers: { accept: 'a'.repeat(8192) } },
      'undecidable too_long',
    ],
    [
      'a header that may have been cut',
      { headers: { 'signature-agent': `sig1="https://alice.test", x="${'y'.repeat(8192)}"` } },
      'undecidable too_long',
    ],
    [
      '33 components',
      also(...Array.from({ length: 31 }, (_, i) => line(`"signature-agent";key="k${i}"`, '"x"'))),
      'undecidable too_many_components',
    ],
  ]
  for (const [what, signing, expected, seconds = AT] of rows) {
    const { state, reason, agent } = made.check(request(signing), at(seconds))
    const said = state === 'valid' ? `valid ${agent?.id}` : reason === undefined ? state : `${state} ${reason}`
    t.equal(said, expected, what)
  }
})

t.test('a claim names its agent also where it fails', async (t) => {
  const made = await signatures()
  t.match(made.check(request({ key: stranger }), at(AT)), { state: 'invalid', agent: { id: 'alice' } })
  t.match(made.check(request(), at(AT + 999)), { state: 'invalid', agent: { id: 'alice' } })
  t.notOk(made.check(request({ agent: undefined }), at(AT)).agent)
})

t.test('of several signatures any valid one counts', async (t) => {
  const made = await signatures()
  const one = fieldsOf({})
  const forged = fieldsOf({ label: 'sig0', key: stranger, params: { keyid: `"${keyid(alice.publicKey)}"` } })
  const other = fieldsOf({ label: 'cdn', params: { tag: '"cdn"' }, key: stranger })
  const joined = (...all: { input: string; signature: string }[]) =>
    request({
      headers: {
        'signature-input': all.map(({ input }) => input).join(', '),
        signature: all.map(({ signature }) => signature).join(', '),
      },
    })
  t.equal(made.check(joined(forged, one), at(AT)).state, 'valid', 'a forged one before it')
  t.equal(made.check(joined(one, forged), at(AT)).state, 'valid', 'and behind it')
  t.equal(made.check(joined(other, one), at(AT)).state, 'valid', "somebody else's")
  t.equal(made.check(joined(other), at(AT)).state, 'none', "only somebody else's")
  t.equal(made.check(joined(forged), at(AT)).state, 'invalid')
  const many = Array.from({ length: 5 }, (_, i) =>
    fieldsOf({ label: `s${i}`, key: stranger, params: { alg: undefined } }),
  )
  t.equal(made.check(joined(...many.slice(0, 3), one), at(AT)).state, 'valid', 'the fourth is read')
  t.equal(made.check(joined(...many.slice(0, 4), one), at(AT)).state, 'invalid', 'the fifth is not')
})

t.test('a signature over another one covers its members', async (t) => {
  // draft-ietf-webbotauth-httpsig-protocol: a remote browser signs on top of the agent that drives it.
  const made = await signatures()
  const inner = fieldsOf({ label: 'agent', key: stranger, lines: [['"@authority"', 'site.example']] })
  const outer = fieldsOf({
    lines: [
      ...LINES,
      ['"signature-input";key="agent"', inner.input.slice('agent='.length)],
      ['"signature";key="agent"', inner.signature.slice('agent='.length)],
    ],
  })
  const headers = {
    'signature-input': `${inner.input}, ${outer.input}`,
    signature: `${inner.signature}, ${outer.signature}`,
  }
  t.match(made.check(request({ headers }), at(AT)), { state: 'valid', agent: { id: 'alice' } })
})

t.test('a nonce is used once', async (t) => {
  const made = await signatures()
  const first = request({ params: { nonce: '"once"' } })
  t.equal(made.check(first, at(AT)).state, 'valid')
  t.equal(made.check(first, at(AT)).state, 'valid', 'the same request asked again')
  const copy = (): VerifiableRequest => ({ ...first })
  t.match(made.check(copy(), at(AT + 1)), { state: 'invalid', reason: 'replayed', agent: { id: 'alice' } })
  t.match(made.check({ ...first, ip: '198.51.100.7' }, at(AT + 299)), { reason: 'replayed' }, 'as long as it is valid')
  t.match(made.check(copy(), at(AT + 300)), { reason: 'expired' })
  t.equal(made.check(request({ params: { nonce: '"twice"' } }), at(AT)).state, 'valid', 'another nonce')
  t.equal(made.check(request({ key: aliceRsa, params: { nonce: '"once"' } }), at(AT)).state, 'valid', 'of another key')
  const plain = request()
  t.equal(made.check(plain, at(AT)).state, 'valid')
  t.equal(made.check({ ...plain }, at(AT)).state, 'valid', 'without a nonce it is made to be used again')
  const forged = request({ key: stranger, params: { keyid: `"${keyid(alice.publicKey)}"`, nonce: '"mine"' } })
  t.equal(made.check(forged, at(AT)).state, 'invalid')
  t.equal(made.check(request({ params: { nonce: '"mine"' } }), at(AT)).state, 'valid', 'a forgery uses up no nonce')
})

t.test('long nonces take no more memory than short ones', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const nonces = createNonces(20_000)
  const used = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const from = used()
  for (let n = 0; n < 20_000; n++) nonces.use(Buffer.alloc(4_000, `${n} `).toString(), 0, 100)
  const grown = (used() - from) / 20_000
  t.ok(grown < 1_000, `${Math.round(grown)} bytes each, of 4,000`)
  t.notOk(nonces.use(Buffer.alloc(4_000, '7 ').toString(), 50, 100))
})

t.test('nonces are bounded', async (t) => {
  const nonces = createNonces(3)
  for (const nonce of ['a', 'b', 'c']) t.ok(nonces.use(nonce, 0, 100))
  t.notOk(nonces.use('c', 50, 100))
  t.ok(nonces.use('c', 101, 200), 'it has expired')
  for (const nonce of ['d', 'e', 'f']) t.ok(nonces.use(nonce, 102, 200))
  t.ok(nonces.use('c', 103, 200), 'the oldest of four is forgotten')
  t.notOk(nonces.use('f', 103, 200))
})

t.test('checks that come to nothing have a quarter of the time', async (t) => {
  let clock = 0
  const made = await signatures({ clock: () => (clock += 30) })
  const states = Array.from({ length: 12 }, () => made.check(request({ key: stranger }), at(AT)).reason)
  t.same(states.slice(0, 9), Array(9).fill('key_unknown'), 'nine times 30 ms')
  t.equal(states[11], 'too_many')
  clock += 1000
  t.equal(made.check(request(), at(AT)).state, 'valid', 'the next second is a new one')
})

t.test('vectors of the draft and a request that AhrefsBot really sent', async (t) => {
  // draft-ietf-webbotauth-httpsig-protocol, Test Vectors, with the keys of RFC 9421 B.1.2 and B.1.4.
  const ed25519 = { kty: 'OKP', crv: 'Ed25519', x: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs' }
  const rsa = {
    kty: 'RSA',
    e: 'AQAB',
    n: 'r4tmm3r20Wd_PbqvP1s2-QEtvpuRaV8Yq40gjUR8y2Rjxa6dpG2GXHbPfvMs8ct-Lh1GH45x28Rw3Ry53mm-oAXjyQ86OnDkZ5N8lYbggD4O3w6M6pAvLkhk95AndTrifbIFPNU8PPMO7OyrFAHqgDsznjPFmTOtCEcN2Z1FpWgchwuYLPL-Wokqltd11nqqzi-bJ9cvSKADYdUAAN5WUtzdpiy6LbTgSxP7ociU4Tn0g5I6aDZJ7A8Lzo0KSyZYoA485mqcO0GVAdVw9lq4aOT9v6d-nb4bnNkQVklLQ3fVAvJm-xdDOp9LCNCN48V2pnDOkFV6-U9nV5oyc6XI2w',
  }
  // Of the key directory at https://ahrefs.com and a request to redbot.org of 2026-06-27.
  const ahrefs = { kty: 'OKP', crv: 'Ed25519', x: '0g1xFRWdVlSOm1h92tZ4VFl7FWGtvRnTZ0PwuBdJuDU' }
  const agent = loadCatalog().get('ahrefsbot')
  if (agent === undefined) throw new Error('no AhrefsBot in the catalog')
  const vectors: [
    what: string,
    host: string,
    jwk: object,
    id: string,
    input: string,
    signature: string,
    agent: string,
    created: number,
    long?: true,
  ][] = [
    [
      'Ed25519, bare string',
      'example.com',
      ed25519,
      'poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U',
      'sig2=("@authority" "signature-agent");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=1735693200;nonce="e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg==";tag="web-bot-auth"',
      'sig2=:jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==:',
      '"https://signature-agent.test"',
      1735689600,
    ],
    [
      'RSA-PSS, bare string',
      'example.com',
      rsa,
      'oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA',
      'sig2=("@authority" "signature-agent");created=1735689600;keyid="oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA";alg="rsa-pss-sha512";expires=1735693200;nonce="XSHtZVCThSIAksXsH9WBs6AtxtXC0eQGiIcUGSoJstFs8lAWakjhrfwzLhyjtme5iXMZvmFWqDEs6cT3Jf+BbQ==";tag="web-bot-auth"',
      'sig2=:I1QWNzGXdP1a4dSvOHLCVOOanEYHDk+ZsVxM9MLX/p4ko69ghKwR5EOtAD96g7g4GWP7lmpM/jFAf9q8EFRDTPLjUXySwMv4YPgabv2LQihTJG2y8a2m6IGltyruwQNiqSJVUuRaG9+b17CGmAMFZh30X6GXLdQJrCARpeTqPwp2DC+a8haDE/VE5EruqzjA5/2mKwvrkzkSqeW5tOVtFwWRRHIOidquf/8Je6kM9mhgkg4arudLA5SL4wyyYE1jURIgcOl8agrfdJ5Def23DIRtiOLRa8jT9cpTLFAuFHN+mrZA/LH9h0gSIg1cPb+0cMASee5uku1KjWcFer7jWA==:',
      '"https://signature-agent.test"',
      1735689600,
    ],
    [
      'Ed25519, dictionary',
      'example.com',
      ed25519,
      'poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U',
      'sig2=("@authority" "signature-agent";key="agent2");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=4889289600;nonce="n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==";tag="web-bot-auth"',
      'sig2=:RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==:',
      'agent2="https://signature-agent.test"',
      1735689600,
      true,
    ],
    [
      'RSA-PSS, dictionary',
      'example.com',
      rsa,
      'oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA',
      'sig2=("@authority" "signature-agent";key="agent2");created=1735689600;keyid="oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA";alg="rsa-pss-sha512";expires=4889289600;nonce="wcfPQPh7SzkvrIVvhD00vNk9PkxJNY2NVbYl2PVBB4zmUoluSwE7W6bPtF60QA3k8g06FU7PPCD+J58YofY1zg==";tag="web-bot-auth"',
      'sig2=:gHzpLNeHaHIO19NaJH9YMW5dcVSi2s0wOMBr6p18vcofS106sfC4KBIS0/szPlBBd1vIcyQ88B6CTEWIhRAiVrb9zfX0mx1aG12CSGWcYkSirHeyTxhbuJvXd27ed6skWoy4PjXItq38936ivUQjfdIwXh1aX6HxkAC3vRnEdSNfntkLWeEuIQ5BLIOBGE39fSwg27Qjq6OVWYas/9/aFUr3HA34MXWYdp+//cvlEKDp3kRoLOw9ro0AOr6srHrTeEtxon2afcws1aZVSlPdd2fZSEIGmw9HAHLDCEkFTERu1gH2k/zIEqgy7CAYXI9E5slog0cLg/Vc6+f8gih33g==:',
      'agent2="https://signature-agent.test"',
      1735689600,
      true,
    ],
    [
      'AhrefsBot',
      'redbot.org',
      ahrefs,
      'e3vpiy0B6M1Wdxnizw3dqRSgpqS6SXM2qiQ6HtUwZ5g',
      'sig=("@authority" "signature-agent");created=1782543550;keyid="e3vpiy0B6M1Wdxnizw3dqRSgpqS6SXM2qiQ6HtUwZ5g";alg="ed25519";expires=1782543610;nonce="WK5RCGd7OHq9M7sF1kJNAlg-3p1OGWeEuzvmwuPAN-EqSV0emP-BhGURLM4tpU3uxCws1EkyG3A20jtEeSUlhw";tag="web-bot-auth"',
      'sig=:iKHbu3AZMwkrIWcUdMup9RqVsKVRDvgujcjlbFbl7eEGRXyEn+ajH1305AAv6g58Tm4pOdhjfXTWi7/dkfZIDA==:',
      '"https://ahrefs.com"',
      1782543550,
    ],
  ]
  for (const [what, host, jwk, id, input, signature, signatureAgent, created, long] of vectors) {
    const key = Jwk.parse(jwk)
    t.equal(thumbprint(key), id, `${what}: thumbprint`)
    const of = (authority: string): VerifiableRequest => ({
      method: 'GET',
      hostname: host,
      pathname: '/path/to/resource',
      ip: '192.0.2.1',
      headers: { 'signature-input': input, signature, 'signature-agent': signatureAgent },
      signed: { scheme: 'https', authority, target: '/path/to/resource' },
    })
    const directory = { agent, url: 'd', keys: readKeys([key]), others: false, fresh: true }
    const look = (request: VerifiableRequest, seconds: number) =>
      checkSignatures(request, seconds * 1000, { directoryOf: () => directory, nonces: createNonces(9) }).map(
        (finding) => (finding.state === 'invalid' ? finding.reason : finding.state),
      )
    if (long) {
      t.same(look(of(host), created + 1), ['window_too_long'], `${what}: a window of a hundred years`)
      const bytes = Buffer.from(signature.slice('sig2=:'.length, -1), 'base64')
      const base = `"@authority": ${host}\n"signature-agent";key="agent2": "https://signature-agent.test"\n"@signature-params": ${input.slice('sig2='.length)}`
      const [made] = readKeys([key]).values()
      t.ok(made && verifySignature(made, base, bytes), `${what}: but it proves`)
      t.notOk(made && verifySignature(made, `${base} `, bytes), `${what}: that text only`)
      continue
    }
    t.same(look(of(host), created + 1), ['valid'], what)
    t.same(look(of('evil.example'), created + 1), ['signature_mismatch'], `${what}: elsewhere`)
    t.same(look(of(host), created + 86_400), ['expired'], `${what}: the day after`)
  }
})

t.test('RFC 9421 B.2.6: a signature over fields and derived components', async (t) => {
  const key = createPrivateKey({
    key: {
      kty: 'OKP',
      crv: 'Ed25519',
      d: 'n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU',
      x: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs',
    },
    format: 'jwk',
  })
  const base = [
    '"date": Tue, 20 Apr 2021 02:07:55 GMT',
    '"@method": POST',
    '"@path": /foo',
    '"@authority": example.com',
    '"content-type": application/json',
    '"content-length": 18',
    '"@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"',
  ].join('\n')
  const expected = 'wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=='
  t.equal(sign(null, Buffer.from(base), key).toString('base64'), expected, 'the signer of these tests is right')
  const [made] = readKeys([Jwk.parse(createPublicKey(key).export({ format: 'jwk' }))]).values()
  t.ok(made && verifySignature(made, base, Buffer.from(expected, 'base64')))
})

t.test('which keys of a directory are used', async (t) => {
  const ok = jwkOf(stranger.publicKey)
  const rsa = jwkOf(aliceRsa.publicKey)
  const short = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
  const padded = Buffer.concat([Buffer.alloc(128), Buffer.from(short.n ?? '', 'base64url')]).toString('base64url')
  const rows: [jwk: unknown, usable: boolean, why: string][] = [
    [ok, true, 'Ed25519'],
    [rsa, true, 'RSA of 2,048 bits'],
    [{ ...ok, use: 'sig', alg: 'EdDSA' }, true, 'with its terms'],
    [{ ...ok, alg: 'Ed25519' }, true, 'and by its newer name'],
    [{ ...rsa, alg: 'PS512' }, true, 'RSA-PSS'],
    [{ ...rsa, alg: 'RS256' }, false, 'another padding'],
    [{ ...ok, use: 'enc' }, false, 'another use'],
    [{ ...ok, x: `${ok.x}A` }, false, '33 bytes'],
    [{ ...ok, x: '' }, false, 'none'],
    [{ ...ok, crv: 'Ed448' }, false, 'another curve'],
    [generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }), false, 'ECDSA'],
    [short, false, 'RSA of 1,024 bits'],
    [{ ...rsa, n: padded }, false, 'RSA of 1,024 bits with zeros before them'],
    [{ ...rsa, e: 'AQ' }, false, 'exponent 1: any text would be its own signature'],
    [{ ...rsa, e: rsa.n }, false, 'an exponent as long as the key: slow'],
    [{ kty: 'oct', k: 'c2VjcmV0' }, false, 'a shared secret'],
    [
      { kty: 'OKP', crv: 'Ed25519', x: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs' },
      false,
      'the example of RFC 9421 B.1.4',
    ],
    [null, false, 'nothing'],
    ['key', false, 'text'],
  ]
  for (const [jwk, usable, why] of rows) {
    const { keys, others } = readDirectory(JSON.stringify({ keys: [jwk] }))
    t.same([keys.size, others], usable ? [1, 0] : [0, 1], why)
  }
  t.equal(readDirectory('{"keys":[]}').keys.size, 0)
  for (const body of ['', 'null', '[]', '{}', '{"keys":{}}', JSON.stringify({ keys: Array(101).fill(ok) })])
    t.throws(() => readDirectory(body), body.slice(0, 20))
})

t.test('a key has its own dates, in seconds or as earlier drafts in milliseconds', async (t) => {
  const jwk = jwkOf(alice.publicKey)
  for (const unit of [1, 1000]) {
    const { keys } = readDirectory(JSON.stringify({ keys: [{ ...jwk, nbf: (AT - 5) * unit, exp: (AT + 5) * unit }] }))
    const look = (seconds: number) => {
      const [agent] = catalog.agents
      if (agent === undefined) throw new Error('no agent')
      const directory = { agent, url: 'd', keys, others: false, fresh: true }
      const [finding] = checkSignatures(request(), at(seconds), {
        directoryOf: () => directory,
        nonces: createNonces(9),
      })
      return finding?.state === 'invalid' ? finding.reason : finding?.state
    }
    t.same([look(AT - 6), look(AT - 5), look(AT + 5), look(AT + 6)], ['key_expired', 'valid', 'valid', 'key_expired'])
  }
})

t.test('origins in one spelling', async (t) => {
  const rows: [string, string][] = [
    ['https://A.test/', 'https://a.test'],
    ['https://a.test:443', 'https://a.test'],
    ['https://a.test:443/', 'https://a.test'],
    ['https://a.test:8443', 'https://a.test:8443'],
    ['https://a.test/x/', 'https://a.test/x/'],
    ['http://a.test/', 'http://a.test/'],
    ['https://u@a.test/', 'https://u@a.test/'],
    ['', ''],
  ]
  for (const [url, expected] of rows) t.equal(originOf(url), expected, url)
})

t.test('hostile fields: in bounded time, without a throw, and never valid', async (t) => {
  const made = await signatures()
  const good = request()
  const { 'signature-input': input = '', signature = '', 'signature-agent': agent = '' } = good.headers ?? {}
  const timed: [string, Record<string, string>][] = [
    ['64 KB', { 'signature-input': `${input}, x=${'a'.repeat(65_536)}` }],
    [
      '1,000 labels',
      {
        'signature-input': Array.from({ length: 1000 }, (_, i) => `s${i}=("@authority");tag="web-bot-auth"`).join(', '),
      },
    ],
    [
      'as many labels as are read',
      { 'signature-input': Array.from({ length: 100 }, (_, i) => `s${i}=();tag="web-bot-auth"`).join(', ') },
    ],
    ['deep nesting', { 'signature-input': `a=${'('.repeat(4000)};tag="web-bot-auth"` }],
    ['many items', { 'signature-input': `a=(${'a '.repeat(1900)});tag="web-bot-auth"` }],
    ['many parameters', { 'signature-input': `a=()${';a'.repeat(1900)};tag="web-bot-auth"` }],
    ['open string', { 'signature-input': `a="${'\\"'.repeat(1900)} web-bot-auth` }],
    ['not ASCII', { 'signature-input': `${input};\u00e9="\u00ff\u0000"` }],
    ['a line break in what is covered', { 'signature-agent': `${agent}\n"@path": /` }],
    ['prototype', { 'signature-agent': '__proto__="https://alice.test", constructor="https://alice.test"' }],
  ]
  for (const [what, headers] of timed) {
    const hostile = (): VerifiableRequest => ({ ...good, headers: { ...good.headers, ...headers } })
    const from = process.hrtime.bigint()
    const states = new Set(Array.from({ length: 20 }, () => made.check(hostile(), at(AT)).state))
    const each = Number(process.hrtime.bigint() - from) / 20e6
    t.notOk(states.has('valid'), what)
    t.ok(each < 20, `${what}: ${each.toFixed(2)} ms`)
  }
  const words = [
    'sig1=',
    '(',
    ')',
    '"@authority"',
    '"signature-agent"',
    ';key="sig1"',
    ';created=',
    `${AT}`,
    ';expires=',
    `${AT + 60}`,
    ';tag="web-bot-auth"',
    `;keyid="${keyid(alice.publicKey)}"`,
    ',',
    ' ',
    ':',
    '=',
    '"',
    '\\',
    '@',
    '?1',
    '%"',
    'https://alice.test',
    'AAAA',
  ]
  const junk = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.array(fc.constantFrom(...words), { maxLength: 40 }).map((parts) => parts.join('')),
    // What is right, with one piece of it broken.
    fc
      .tuple(fc.nat(400), fc.string({ unit: 'binary', maxLength: 3 }))
      .map(([place, text]) => `${input.slice(0, place)}${text}${input.slice(place + 1)}`),
  )
  fc.assert(
    fc.property(junk, fc.option(junk), fc.option(junk), (a, b, c) => {
      if (a === input) return
      const headers = { 'signature-input': a, signature: b ?? signature, 'signature-agent': c ?? agent }
      const { state } = made.check({ ...good, headers }, at(AT))
      // White space between members and zeros before a number are the same in other words (RFC 8941).
      const meant = (text: string) => text.replace(/\s/g, '').replace(/=0+(?=\d)/g, '=')
      if (state === 'valid') t.equal(meant(a), meant(input))
    }),
    { numRuns: 2000 },
  )
  t.same(made.check(good, at(AT)).state, 'valid', 'and the right one still is')
})
