import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import t from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import { checkSignatures, createNonces, originOf } from '../../src/agents/signature/check.js'
import { Jwk, readDirectory, readKeys, thumbprint, verifySignature } from '../../src/agents/signature/keys.js'
import type { VerifiableRequest } from '../../src/agents/verdict.js'
import { AT, alice, aliceRsa, at, catalog, jwkOf, mallory, request } from '../fixtures/signer.js'

t.test('accepts the test vectors of the draft and a real request of AhrefsBot', async (t) => {
  // draft-ietf-webbotauth-httpsig-protocol, Test Vectors, with the keys of RFC 9421 B.1.2 and B.1.4.
  const ed25519 = { kty: 'OKP', crv: 'Ed25519', x: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs' }
  const rsa = {
    kty: 'RSA',
    e: 'AQAB',
    n: 'r4tmm3r20Wd_PbqvP1s2-QEtvpuRaV8Yq40gjUR8y2Rjxa6dpG2GXHbPfvMs8ct-Lh1GH45x28Rw3Ry53mm-oAXjyQ86OnDkZ5N8lYbggD4O3w6M6pAvLkhk95AndTrifbIFPNU8PPMO7OyrFAHqgDsznjPFmTOtCEcN2Z1FpWgchwuYLPL-Wokqltd11nqqzi-bJ9cvSKADYdUAAN5WUtzdpiy6LbTgSxP7ociU4Tn0g5I6aDZJ7A8Lzo0KSyZYoA485mqcO0GVAdVw9lq4aOT9v6d-nb4bnNkQVklLQ3fVAvJm-xdDOp9LCNCN48V2pnDOkFV6-U9nV5oyc6XI2w',
  }
  // From the key directory at https://ahrefs.com and a request to redbot.org of 2026-06-27.
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
        (finding) => ('reason' in finding ? finding.reason : finding.state),
      )
    t.same(look(of(host), created + 1), ['valid'], what)
    t.same(look(of('evil.example'), created + 1), ['signature_mismatch'], `${what}: elsewhere`)
    const expected = long ? 'valid' : 'expired'
    t.same(look(of(host), created + 86_400), [expected], `${what}: the day after`)
  }
})

t.test('verifies RFC 9421 B.2.6, over fields and derived components', async (t) => {
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
  t.equal(sign(null, Buffer.from(base), key).toString('base64'), expected, 'the signer of these tests is correct')
  const [made] = readKeys([Jwk.parse(createPublicKey(key).export({ format: 'jwk' }))]).values()
  t.ok(made && verifySignature(made, base, Buffer.from(expected, 'base64')))
})

t.test('uses only strong keys of supported kinds', async (t) => {
  const ok = jwkOf(mallory.publicKey)
  const rsa = jwkOf(aliceRsa.publicKey)
  const short = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
  const padded = Buffer.concat([Buffer.alloc(128), Buffer.from(short.n ?? '', 'base64url')]).toString('base64url')
  const rows: [jwk: unknown, usable: boolean, why: string][] = [
    [ok, true, 'Ed25519'],
    [rsa, true, 'RSA of 2,048 bits'],
    [{ ...ok, use: 'sig', alg: 'EdDSA' }, true, 'with use and alg'],
    [{ ...ok, alg: 'Ed25519' }, true, 'with its newer name'],
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

t.test('respects the dates of a key, in seconds or in milliseconds as in earlier drafts', async (t) => {
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
      return finding !== undefined && 'reason' in finding ? finding.reason : finding?.state
    }
    t.same([look(AT - 6), look(AT - 5), look(AT + 5), look(AT + 6)], ['key_expired', 'valid', 'valid', 'key_expired'])
  }
})

t.test('normalises origins', async (t) => {
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
