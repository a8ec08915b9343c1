import t from 'tap'
import { parseCatalog } from '../../src/agents/catalog.js'
import { createVerifier } from '../../src/agents/claim-check.js'
import type { RangeLookup } from '../../src/agents/ranges/ranges.js'
import type { RdnsResult } from '../../src/agents/rdns.js'
import type { SignatureCheck } from '../../src/agents/signature/signatures.js'
import { VERDICTS, type VerifiableRequest } from '../../src/agents/verdict.js'

const request = (ip = '192.0.2.1'): VerifiableRequest => ({ method: 'GET', hostname: 'site.test', pathname: '/', ip })
const AT = Date.parse('2026-11-21T12:00:00Z')
const never: Promise<never> = new Promise(() => {})

t.test('combines signature, ranges and reverse DNS into a verdict', async (t) => {
  const entry = (id: string, more: Record<string, unknown>) => ({
    id,
    name: id,
    operator: id === 'sibling' ? 'signed' : id,
    purpose: 'search',
    ua_tokens: [id],
    ua_match: 'token',
    robots_only: false,
    honors_wildcard_group: true,
    respects_robots: 'unknown',
    client_side: false,
    status: 'active',
    ...more,
  })
  const ranges = { ranges_url: 'https://x.test/r.json', ranges_format: 'prefixes-json' }
  const rdns = { rdns_suffixes: ['.x.test'] }
  const signs = { web_bot_auth: { signature_agent: 'x.test', directory: null, status: 'documented' } }
  const agents = new Map(
    parseCatalog(
      JSON.stringify({
        meta: { generated: '2026-11-21' },
        agents: [
          entry('nothing', {}),
          entry('client', { ...ranges, ...rdns, ...signs, client_side: true }),
          entry('listed', ranges),
          entry('named', rdns),
          entry('both', { ...ranges, ...rdns }),
          entry('signed', signs),
          entry('sibling', {}),
          entry('all', { ...ranges, ...rdns, ...signs }),
        ],
      }),
    ).agents.map((agent) => [agent.id, agent]),
  )
  type Way = [
    signature: SignatureCheck['state'],
    signer: string | undefined,
    list: RangeLookup,
    name: RdnsResult | 'pending' | 'offline',
  ]
  const rows: readonly [string, Way, keyof typeof VERDICTS, string][] = [
    ['nothing', ['none', undefined, 'none', 'true'], 'unverifiable', 'nothing is published'],
    ['client', ['none', undefined, 'none', 'true'], 'unverifiable', 'the agent runs on the machines of its users'],
    ['listed', ['none', undefined, 'inside', 'false'], 'ranges', 'inside'],
    ['listed', ['none', undefined, 'outside', 'true'], 'spoofed', 'outside'],
    ['listed', ['none', undefined, 'unknown', 'false'], 'indeterminate', 'no list, or a stale one'],
    ['listed', ['none', undefined, 'silent', 'false'], 'indeterminate', 'a help page may be incomplete'],
    [
      'listed',
      ['invalid', 'signed', 'inside', 'false'],
      'ranges',
      'an invalid signature of another operator does not matter',
    ],
    ['listed', ['invalid', undefined, 'outside', 'false'], 'spoofed', 'an invalid signature does not help either'],
    ['listed', ['undecidable', undefined, 'outside', 'false'], 'spoofed', 'the operator does not sign'],
    ['listed', ['pending', undefined, 'outside', 'false'], 'spoofed', 'a pending signature is not waited for'],
    ['named', ['none', undefined, 'none', 'true'], 'rdns', 'confirmed'],
    ['named', ['none', undefined, 'none', 'false'], 'spoofed', 'refuted'],
    ['named', ['none', undefined, 'none', 'transient'], 'indeterminate', 'the DNS did not answer'],
    ['named', ['none', undefined, 'none', 'pending'], 'indeterminate', 'the DNS has not answered yet'],
    ['named', ['none', undefined, 'none', 'offline'], 'indeterminate', 'no DNS'],
    ['both', ['none', undefined, 'inside', 'false'], 'ranges', 'one way is enough'],
    ['both', ['none', undefined, 'outside', 'true'], 'rdns', 'the other way is enough too'],
    ['both', ['none', undefined, 'outside', 'false'], 'spoofed', 'both refute'],
    ['both', ['none', undefined, 'outside', 'transient'], 'indeterminate', 'DNS might confirm'],
    ['both', ['none', undefined, 'outside', 'pending'], 'indeterminate', 'DNS might still confirm'],
    ['both', ['none', undefined, 'unknown', 'false'], 'indeterminate', 'the list might confirm'],
    ['both', ['none', undefined, 'unknown', 'true'], 'rdns', 'the list is not needed'],
    ['both', ['none', undefined, 'silent', 'false'], 'spoofed', 'the page does not list the address, and DNS refutes'],
    ['both', ['none', undefined, 'silent', 'transient'], 'indeterminate', 'neither the page nor DNS decides'],
    ['signed', ['valid', 'signed', 'none', 'false'], 'web_bot_auth', 'signed'],
    ['signed', ['valid', 'sibling', 'none', 'false'], 'web_bot_auth', 'by another agent of the operator'],
    ['sibling', ['valid', 'signed', 'none', 'false'], 'web_bot_auth', 'the same the other way round'],
    ['signed', ['valid', 'listed', 'none', 'false'], 'unverifiable', 'by another operator'],
    ['signed', ['none', undefined, 'none', 'false'], 'unverifiable', 'not signed, and no other way is published'],
    ['signed', ['invalid', 'signed', 'none', 'false'], 'spoofed', 'an invalid signature'],
    ['signed', ['invalid', undefined, 'none', 'false'], 'spoofed', 'an invalid signature of an unknown signer'],
    ['signed', ['invalid', 'listed', 'none', 'false'], 'unverifiable', 'an invalid signature of another operator'],
    ['signed', ['undecidable', 'signed', 'none', 'false'], 'indeterminate', 'no keys'],
    ['signed', ['unusable', 'signed', 'none', 'false'], 'indeterminate', 'expired: no check failed'],
    ['signed', ['unusable', undefined, 'none', 'false'], 'indeterminate', 'malformed: no check failed'],
    ['nothing', ['unusable', undefined, 'none', 'false'], 'unverifiable', 'malformed, but the operator does not sign'],
    ['all', ['unusable', 'all', 'outside', 'false'], 'spoofed', 'an unusable signature does not hide failed checks'],
    ['all', ['unusable', 'all', 'outside', 'transient'], 'indeterminate', 'DNS might confirm'],
    ['all', ['unusable', 'all', 'inside', 'false'], 'ranges', 'the ranges confirm'],
    ['signed', ['pending', 'signed', 'none', 'false'], 'indeterminate', 'no keys yet'],
    ['all', ['none', undefined, 'outside', 'false'], 'spoofed', 'the operator does not sign every request'],
    ['all', ['valid', 'all', 'outside', 'false'], 'web_bot_auth', 'the signature comes first'],
    ['all', ['invalid', 'all', 'inside', 'false'], 'ranges', 'the ranges outweigh an invalid signature'],
    ['all', ['invalid', 'all', 'outside', 'true'], 'rdns', 'so does DNS'],
    ['all', ['invalid', 'all', 'unknown', 'false'], 'indeterminate', 'the list might confirm'],
    ['all', ['undecidable', 'all', 'outside', 'false'], 'indeterminate', 'the signature might confirm'],
    ['all', ['pending', 'all', 'inside', 'pending'], 'ranges', 'the ranges decide at once'],
  ]
  for (const [id, [state, signer, list, name], expected, why] of rows) {
    const verifier = createVerifier({
      signatures: {
        check: () => ({ state, agent: signer === undefined ? undefined : agents.get(signer), later: never }),
      },
      ranges: { lookUp: () => list },
      ...(name !== 'offline' && { rdns: { lookUp: () => (name === 'pending' ? never : name) } }),
    })
    const { now, later } = verifier.check(agents.get(id), request(), AT)
    t.same(now, VERDICTS[expected], `${id} ${state} ${list} ${name}: ${why}`)
    const awaited = (name === 'pending' && agents.get(id)?.rdns_suffixes) || (state === 'pending' && id !== 'listed')
    t.equal(
      later !== undefined,
      Boolean(awaited) && expected === 'indeterminate',
      `${why}: whether a later verdict is promised`,
    )
  }
  const proof = { source: 'https://keys.example/directory', at: AT - 5_000 }
  const list = { source: 'https://lists.example/all.json', at: AT - 9_000 }
  const proofs: readonly [SignatureCheck['state'], RangeLookup, object, string][] = [
    [
      'valid',
      'inside',
      { ...VERDICTS.web_bot_auth, proof: proof.source, proof_at: new Date(proof.at) },
      'the directory',
    ],
    ['none', 'inside', { ...VERDICTS.ranges, proof: list.source, proof_at: new Date(list.at) }, 'the list'],
    ['none', 'outside', VERDICTS.rdns, 'a name has no list'],
  ]
  for (const [state, found, expected, why] of proofs) {
    const signed = { state, agent: agents.get('all'), ...(state === 'valid' && { proof }) }
    const ranges = { lookUp: () => found, confirmingList: () => list }
    const way = { signatures: { check: () => signed }, ranges, rdns: { lookUp: () => 'true' as const } }
    t.same(createVerifier(way).check(agents.get('all'), request(), AT), { now: expected }, `proof: ${why}`)
    const late = {
      check: () => ({ state: 'pending' as const, agent: agents.get('all'), later: Promise.resolve(signed) }),
    }
    const checked = createVerifier({ ...way, signatures: late, ranges: { lookUp: () => 'none' } })
    const { later } = checked.check(agents.get('all'), request(), AT)
    if (state === 'valid') t.same(await later, expected, 'the same for a directory that was fetched first')
  }
  const verifier = createVerifier({ ranges: { lookUp: () => 'inside' }, rdns: { lookUp: () => 'true' } })
  t.same(
    verifier.check(undefined, request(), AT),
    { now: VERDICTS.unverifiable },
    'an agent that is not in the catalog',
  )
  for (const ip of ['', 'nonsense', '1.2.3', '127.1'])
    t.same(
      verifier.check(agents.get('both'), request(ip), AT),
      { now: VERDICTS.indeterminate },
      `not an address: "${ip}"`,
    )
  t.same(verifier.check(agents.get('nothing'), request(''), AT), { now: VERDICTS.unverifiable })

  const laters: readonly [
    string,
    SignatureCheck | 'none',
    RangeLookup,
    RdnsResult | undefined,
    keyof typeof VERDICTS,
  ][] = [
    ['both', 'none', 'outside', 'true', 'rdns'],
    ['both', 'none', 'outside', 'false', 'spoofed'],
    ['both', 'none', 'outside', 'transient', 'indeterminate'],
    ['both', 'none', 'unknown', 'false', 'indeterminate'],
    ['all', { state: 'valid', agent: agents.get('all') }, 'outside', 'false', 'web_bot_auth'],
    ['all', { state: 'invalid', agent: agents.get('all') }, 'outside', 'false', 'spoofed'],
    ['all', { state: 'undecidable', agent: agents.get('all') }, 'outside', 'false', 'indeterminate'],
    ['all', { state: 'invalid', agent: agents.get('all') }, 'outside', 'true', 'rdns'],
  ]
  for (const [id, signature, list, name, expected] of laters) {
    const later = signature === 'none' ? undefined : Promise.resolve(signature)
    const pending = createVerifier({
      signatures: { check: () => ({ state: later ? 'pending' : 'none', agent: later && agents.get(id), later }) },
      ranges: { lookUp: () => list },
      rdns: { lookUp: async () => name ?? 'transient' },
    })
    const checked = pending.check(agents.get(id), request(), AT)
    t.same(checked.now, VERDICTS.indeterminate)
    t.same(await checked.later, VERDICTS[expected], `${id}: later ${list} ${name} ${later ? 'signed' : ''}`)
  }
  const broken = createVerifier({
    ranges: { lookUp: () => 'none' },
    rdns: { lookUp: () => Promise.reject(new Error('x')) },
  })
  t.same(await broken.check(agents.get('named'), request(), AT).later, VERDICTS.indeterminate, 'it never rejects')
})
