import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { loadCatalog, signingHosts } from '../../src/agents/catalog.js'
import { createVerifier } from '../../src/agents/claim-check.js'
import { createSignatures } from '../../src/agents/signature/signatures.js'
import { createSiteLookup } from '../../src/capture/site.js'
import { createClassifier } from '../../src/worker/ingest/classifier.js'
import { SaltStore } from '../../src/worker/ingest/salts.js'
import { SessionMemory } from '../../src/worker/ingest/session-memory.js'
import { memorySaltFile, noPolicyJudge } from '../fixtures/classifier-stubs.js'
import { directory } from '../fixtures/files.js'
import { CHROME, GPTBOT, places, site, view } from '../fixtures/page-classifier.js'
import { AGENT_COMPONENT, AT, alice, fieldsOf, mallory, openSignatures, type Signing } from '../fixtures/signer.js'

const now = () => AT * 1000

/** Classifies one request for a page; returns the agent's id, operator and verification, or `person`. */
function classify(signatures: ReturnType<typeof createSignatures>, user_agent: string, signing: Signing | undefined) {
  const { input, signature } = fieldsOf(signing ?? {})
  const headers: Record<string, string> = {
    ...{ 'signature-input': input, signature, 'signature-agent': signing?.agent ?? 'sig1="https://alice.test"' },
  }
  const classifier = createClassifier({
    catalog: loadCatalog(),
    places,
    siteOf: createSiteLookup([{ ...site, domains: ['site.example'] }]),
    salts: new SaltStore({ file: memorySaltFile(), now, random: randomBytes, log: () => {} }),
    sessions: new SessionMemory({ now }),
    verifier: createVerifier({ signatures, ranges: { lookUp: () => 'none' } }),
    policyJudge: noPolicyJudge,
    log: (message, error) => t.fail(`${message}: ${error}`),
  })
  const { rows } = classifier.classify([
    {
      ...{ ...view, timestamp: new Date(now()).toISOString(), hostname: 'site.example', pathname: '/', user_agent },
      ...(signing && { headers, signed: { scheme: 'https' as const, authority: 'site.example', target: '/' } }),
    },
  ])
  const [row] = rows.agent_events
  return row === undefined ? 'person' : [row.agent_id, row.operator, row.verification]
}

const by = (url: string, more: Signing = {}): Signing => ({
  lines: [
    ['"@authority"', 'site.example'],
    [AGENT_COMPONENT, `"${url}"`],
  ],
  agent: `sig1="${url}"`,
  ...more,
})
const HEADLESS = CHROME.replace('Chrome/', 'HeadlessChrome/')

t.test('agents that only sign are named by their directory', async (t) => {
  const fetched = await openSignatures()
  const nothingFetched = createSignatures({
    ...{ catalog: loadCatalog(), file: join(directory(t), 'directories.json'), now, random: () => 0.5 },
    ...{
      after: () => () => {},
      outbound: async () => t.fail('nothing may be fetched') as never,
      log: { warn: () => {} },
    },
  })
  const rows: [typeof fetched, string, Signing | undefined, string | readonly string[], string][] = [
    [fetched, CHROME, by('https://alice.test'), ['alice', 'alice', 'web_bot_auth'], 'a valid signature'],
    [fetched, GPTBOT, by('https://alice.test'), ['alice', 'alice', 'web_bot_auth'], 'whatever the user agent says'],
    [
      fetched,
      CHROME,
      by('https://alice.test', { key: { ...mallory, publicKey: alice.publicKey } }),
      'person',
      'forged',
    ],
    [
      ...([fetched, CHROME, by('https://alice.test', { params: { created: AT - 900, expires: AT - 300 } })] as const),
      ...(['person', 'expired'] as const),
    ],
    [fetched, CHROME, undefined, 'person', 'no signature'],
    [fetched, CHROME, by('https://alice.test', { params: { tag: '"other"' } }), 'person', 'another kind of signature'],
    [
      ...([fetched, CHROME, by('https://Agent.Example:8443/keys')] as const),
      ...([['agent.example', 'agent.example', 'indeterminate'], 'an unknown directory is shown by its host'] as const),
    ],
    [fetched, HEADLESS, by('https://agent.example'), ['agent.example', 'agent.example', 'indeterminate'], 'a tool'],
    [fetched, GPTBOT, by('https://agent.example'), ['gptbot', 'OpenAI', 'unverifiable'], 'a name says more'],
    [fetched, CHROME, by('http://agent.example'), 'person', 'no https'],
    [fetched, CHROME, by('https://192.0.2.1'), 'person', 'an address is not a name'],
    [fetched, CHROME, by('https://agent'), 'person', 'nor is a word'],
    [
      fetched,
      CHROME,
      by(`https://${'a.'.repeat(123)}example`),
      [`${'a.'.repeat(123)}example`, `${'a.'.repeat(123)}example`, 'indeterminate'],
      '253 characters',
    ],
    [fetched, CHROME, by(`https://${'a.'.repeat(123)}examples`), 'person', 'no host is longer'],
    [fetched, CHROME, by('https://alice.test@agent.example'), 'person', 'nor is what could be read in two ways'],
    [
      ...([nothingFetched, CHROME, by('https://app.hark.com')] as const),
      ...([['harkbot', 'Hark', 'indeterminate'], 'the table names the operator before any key is fetched'] as const),
    ],
    [
      ...([nothingFetched, CHROME, by('https://kzejmtkesloc1.keydirectory.signer.ap-northeast-1.on.aws')] as const),
      ...([['bedrock-agentcore-browser', 'Amazon', 'indeterminate'], 'one of several directories'] as const),
    ],
  ]
  for (const [signatures, userAgent, signing, expected, why] of rows)
    t.strictSame(classify(signatures, userAgent, signing), expected, why)
})

t.test('each directory of the shipped table belongs to one agent', async (t) => {
  const hosts = loadCatalog().agents.flatMap((agent) =>
    agent.web_bot_auth === undefined
      ? []
      : [agent.web_bot_auth.signature_agent, ...(agent.web_bot_auth.further ?? [])].map(
          (url) => [url, agent.id] as const,
        ),
  )
  t.equal(new Set(hosts.map(([url]) => url)).size, hosts.length, 'none twice')
  for (const { id, web_bot_auth } of loadCatalog().agents.filter((agent) => signingHosts(agent).length > 0))
    if (web_bot_auth?.directory)
      t.equal(new URL(web_bot_auth.directory).hostname, new URL(web_bot_auth.signature_agent).hostname, id)
})
