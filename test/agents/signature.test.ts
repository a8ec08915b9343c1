import t from 'tap'
import {
  AGENT_COMPONENT,
  AT,
  alice,
  aliceRsa,
  at,
  bob,
  fieldsOf,
  keyid,
  LINES,
  mallory,
  openSignatures,
  request,
  type Signing,
} from '../fixtures/signer.js'

t.test('checks each rule of RFC 9421 and the Web Bot Auth profile', async (t) => {
  const made = await openSignatures()
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
        lines: [line('"@authority"', 'site.example'), line(AGENT_COMPONENT, '"https://bob.test"')],
        agent: 'sig1="https://bob.test"',
      },
      'valid bob',
    ],
    [
      'other case and port of the same origin',
      {
        lines: [line('"@authority"', 'site.example'), line(AGENT_COMPONENT, '"https://ALICE.test:443"')],
        agent: 'sig1="https://ALICE.test:443"',
      },
      'valid alice',
    ],
    [
      'type=directory said',
      {
        lines: [line('"@authority"', 'site.example'), line(AGENT_COMPONENT, '"https://alice.test";type=directory')],
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
      {
        lines: [
          line('"@target-uri"', 'https://site.example/a%20b/?q=1&r'),
          line(AGENT_COMPONENT, '"https://alice.test"'),
        ],
      },
      'valid alice',
    ],
    [
      'the default port is not part of the authority',
      { request: { signed: { scheme: 'https', authority: 'site.example:443', target: '/' } } },
      'valid alice',
    ],
    [
      'any other port is',
      {
        lines: [line('"@authority"', 'site.example:8443'), line(AGENT_COMPONENT, '"https://alice.test"')],
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
    ['a tag that is a token instead of a string', { params: { tag: 'web-bot-auth' } }, 'none'],
    ['no tag, but in a nonce', { params: { tag: undefined, nonce: '"web-bot-auth"' } }, 'none'],

    ['expired', {}, 'unusable expired', AT + 300],
    ['not yet', {}, 'unusable created_in_future', AT - 71],
    ['expires before it is created', { params: { created: AT, expires: AT } }, 'unusable expires_before_created'],
    ['no created', { params: { created: undefined } }, 'unusable created_missing'],
    ['no expires', { params: { expires: undefined } }, 'unusable expires_missing'],
    ['no keyid', { params: { keyid: undefined } }, 'unusable keyid_missing'],
    ['created is not an integer', { params: { created: `${AT - 10}.5` } }, 'unusable malformed'],
    ['created is a date', { params: { created: `@${AT - 10}` } }, 'unusable malformed'],
    ['keyid is not a string', { params: { keyid: 'abc' } }, 'unusable malformed'],
    [
      'authority not covered',
      { lines: [line('"@path"', '/a%20b/'), line(AGENT_COMPONENT, '"https://alice.test"')] },
      'unusable authority_not_covered',
    ],
    ['nothing covered', { lines: [] }, 'unusable authority_not_covered'],
    ['agent not covered', { lines: [line('"@authority"', 'site.example')] }, 'unusable signature_agent_not_covered'],
    [
      'bare agent not covered',
      { lines: [line('"@authority"', 'site.example')], agent: '"https://alice.test"' },
      'unusable signature_agent_not_covered',
    ],
    ['a bare string has no members', { agent: '"https://alice.test"' }, 'unusable signature_agent_not_covered'],
    [
      'signed for another site',
      { lines: [line('"@authority"', 'evil.example'), line(AGENT_COMPONENT, '"https://alice.test"')] },
      'invalid signature_mismatch',
    ],
    [
      'sent with another Host',
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
      'port 80 is not the default of https',
      { request: { signed: { scheme: 'https', authority: 'site.example:80', target: '/' } } },
      'invalid signature_mismatch',
    ],
    [
      "a key of mallory with alice's key id",
      { key: mallory, params: { keyid: `"${keyid(alice.publicKey)}"` } },
      'invalid signature_mismatch',
    ],
    ['an unknown key', { key: mallory }, 'unusable key_unknown'],
    ["bob's key in alice's directory", { key: bob }, 'unusable key_unknown'],
    [
      "alice's key in bob's directory",
      {
        lines: [line('"@authority"', 'site.example'), line(AGENT_COMPONENT, '"https://bob.test"')],
        agent: 'sig1="https://bob.test"',
      },
      'unusable key_unknown',
    ],
    ['the kid of a key is ignored', { params: { keyid: '"never looked at"' } }, 'unusable key_unknown'],
    ['padded thumbprint', { params: { keyid: `"${keyid(alice.publicKey)}="` } }, 'unusable key_unknown'],
    ['a shorter salt', { key: aliceRsa, salt: 32 }, 'invalid signature_mismatch'],
    ['alg of another key', { params: { alg: '"rsa-pss-sha512"' } }, 'unusable alg_mismatch'],
    ['alg that is weaker', { key: aliceRsa, params: { alg: '"rsa-v1_5-sha256"' } }, 'unusable alg_mismatch'],
    ['shared secret', { params: { alg: '"hmac-sha256"' } }, 'unusable alg_mismatch'],
    ['agent swapped after signing', { agent: 'sig1="https://bob.test"', key: bob }, 'invalid signature_mismatch'],
    ['covered twice', also(line('"@authority"', 'site.example')), 'unusable component_repeated'],
    [
      'member that is not there',
      also(line('"signature-agent";key="z"', '"https://alice.test"')),
      'unusable component_missing',
    ],
    ['of a response', also(line('"@status"', '200')), 'unusable component_of_response'],
    ['of a request in a response', also(line('"@method";req', 'GET')), 'unusable component_of_response'],
    ['upper case', also(line('"Accept"', '*/*')), 'unusable malformed'],
    ['key on a derived one', also(line('"@path";key="a"', '/')), 'unusable malformed'],
    ['no Signature', { headers: { signature: '' } }, 'unusable malformed'],
    ['another label', { headers: { signature: 'sig2=:AAAA:' } }, 'unusable malformed'],
    ['Signature is text', { headers: { signature: 'sig1="abc"' } }, 'unusable malformed'],
    ['no bytes', { headers: { signature: 'sig1=::' } }, 'invalid signature_mismatch'],
    ['Signature-Input is not a dictionary', { headers: { 'signature-input': '"web-bot-auth"' } }, 'unusable malformed'],
    [
      'Signature-Input is not a list',
      { headers: { 'signature-input': 'sig1;tag="web-bot-auth"' } },
      'unusable malformed',
    ],
    ['not ASCII', { ...also(line('"accept"', 'caf\u00e9')), headers: { accept: 'caf\u00e9' } }, 'unusable not_ascii'],
    [
      'a letter that would lose its high byte',
      { request: { signed: { scheme: 'https', authority: '\u0173ite.example', target: '/' } } },
      'unusable not_ascii',
    ],

    ['no Signature-Agent', { agent: undefined }, 'undecidable signature_agent_missing'],
    [
      'an unknown agent',
      {
        lines: [line('"@authority"', 'site.example'), line(AGENT_COMPONENT, '"https://evil.test"')],
        agent: 'sig1="https://evil.test"',
      },
      'undecidable directory_unknown',
    ],
    [
      'more than an origin',
      {
        lines: [line('"@authority"', 'site.example'), line(AGENT_COMPONENT, '"https://alice.test/x"')],
        agent: 'sig1="https://alice.test/x"',
      },
      'undecidable directory_unknown',
    ],
    [
      'user@host',
      {
        lines: [line('"@authority"', 'site.example'), line(AGENT_COMPONENT, '"https://alice.test@evil.test"')],
        agent: 'sig1="https://alice.test@evil.test"',
      },
      'undecidable directory_unknown',
    ],
    [
      'another type of directory',
      {
        lines: [line('"@authority"', 'site.example'), line(AGENT_COMPONENT, '"https://alice.test";type=cimd')],
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

t.test('verifies a signature that is valid for more than a day, and warns once', async (t) => {
  const warnings: unknown[] = []
  const made = await openSignatures({ log: { warn: (details) => warnings.push(details) } })
  for (const [expires, expected, why] of [
    [AT - 10 + 86_400, 0, 'a day is what the draft recommends'],
    [AT - 10 + 86_401, 1, 'a second more'],
    [AT + 3_155_760_000, 1, 'a hundred years: the second warning would say the same'],
  ] as const) {
    t.match(made.check(request({ params: { expires } }), at(AT)), { state: 'valid', agent: { id: 'alice' } }, why)
    t.equal(warnings.length, expected, why)
  }
  t.match(warnings, [{ directory: /alice/ }])
})

t.test('names the claimed agent of a signature that is not valid', async (t) => {
  const made = await openSignatures()
  const forged = request({ key: mallory, params: { keyid: `"${keyid(alice.publicKey)}"` } })
  t.match(made.check(forged, at(AT)), { state: 'invalid', agent: { id: 'alice' } })
  t.match(made.check(request(), at(AT + 999)), { state: 'unusable', agent: { id: 'alice' } })
  t.notOk(made.check(request({ agent: undefined }), at(AT)).agent)
})

t.test('accepts any valid signature of several', async (t) => {
  const made = await openSignatures()
  const one = fieldsOf({})
  const forged = fieldsOf({ label: 'sig0', key: mallory, params: { keyid: `"${keyid(alice.publicKey)}"` } })
  const other = fieldsOf({ label: 'cdn', params: { tag: '"cdn"' }, key: mallory })
  const joined = (...all: { input: string; signature: string }[]) =>
    request({
      headers: {
        'signature-input': all.map(({ input }) => input).join(', '),
        signature: all.map(({ signature }) => signature).join(', '),
      },
    })
  t.equal(made.check(joined(forged, one), at(AT)).state, 'valid', 'a forged one before it')
  t.equal(made.check(joined(one, forged), at(AT)).state, 'valid', 'a forged one after it')
  t.equal(made.check(joined(other, one), at(AT)).state, 'valid', 'a signature of another tag')
  t.equal(made.check(joined(other), at(AT)).state, 'none', 'only a signature of another tag')
  t.equal(made.check(joined(forged), at(AT)).state, 'invalid')
  const many = Array.from({ length: 5 }, (_, i) =>
    fieldsOf({ label: `s${i}`, key: mallory, params: { alg: undefined } }),
  )
  t.equal(made.check(joined(...many.slice(0, 3), one), at(AT)).state, 'valid', 'the fourth is read')
  t.equal(made.check(joined(...many.slice(0, 4), one), at(AT)).state, 'unusable', 'the fifth is not')
})

t.test('accepts a signature that covers another signature', async (t) => {
  // draft-ietf-webbotauth-httpsig-protocol: a remote browser signs in addition to the agent that drives it.
  const made = await openSignatures()
  const inner = fieldsOf({ label: 'agent', key: mallory, lines: [['"@authority"', 'site.example']] })
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
