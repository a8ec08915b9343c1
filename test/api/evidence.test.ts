import { createHash, createPublicKey, generateKeyPairSync, randomBytes, verify } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { z } from 'zod'
import { listAgents, loadCatalog } from '../../src/agents/catalog.js'
import { createPdfRenderer } from '../../src/analytics/export/pdf.js'
import type { PolicyVersionsQuery } from '../../src/analytics/query/policy-query.js'
import { createApp } from '../../src/api/app.js'
import { EvidenceDocument } from '../../src/api/evidence/document.js'
import { evidenceRoutes } from '../../src/api/evidence/routes.js'
import { EvidenceFault, readEvidence, signEvidence } from '../../src/api/evidence/signed-file.js'
import { createRehearsalRunner } from '../../src/api/rehearsal/run.js'
import { ApiError } from '../../src/base/errors.js'
import { createEvidenceKeys } from '../../src/manage/evidence-keys.js'
import { bootstrap } from '../../src/manage/orgs.js'
import { createSites } from '../../src/manage/sites.js'
import type { AgentEventRow } from '../../src/storage/rows.js'
import { sql } from '../../src/storage/sql.js'
import { command } from '../fixtures/command.js'
import { directory } from '../fixtures/files.js'
import { createInProcessEngine } from '../fixtures/in-process-worker.js'
import { openStore } from '../fixtures/open-store.js'
import { pdfText } from '../fixtures/pdf-text.js'
import { agentRow } from '../fixtures/rows.js'

const PublicKey = z.object({ kty: z.string(), crv: z.string(), x: z.string(), kid: z.string() })
const Preview = z.object({ data: EvidenceDocument, meta: z.object({ fingerprint: z.string().nullable() }) })
const NOW = new Date('2026-11-21T12:00:00.000Z')
const day = (of: number, hour = 0) => new Date(Date.UTC(2026, 10, of, hour))
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

const FIRST = 'User-agent: *\nDisallow: /old\n'
const SECOND = 'User-agent: *\nDisallow: /old\nDisallow: /drafts # nur für Menschen\n'
const LIST = 'https://openai.com/gptbot.json'
const isDangerous = (text: string) => text.includes('\u202e') || text.includes('\u001b')
const HOSTILE = '\u202eGPTBot <img src=x onerror=alert(1)> \u001b[31m =cmd()'

type Row = Partial<AgentEventRow>
const disallowed = (robots_rule: string, robots_line: number, grace = false): Row => ({
  ...{ robots_allowed: false, robots_rule, robots_line, robots_grace: grace },
})
const byList = (proof_at: Date): Row => ({ verified: true, verification: 'ranges', proof: LIST, proof_at })
const SPOOFED: Row = { verified: false, verification: 'spoofed' }

/** The rows of the folder in their order, each with the answers that were found by hand: the last read, and of which version. */
const IN_FOLDER: readonly [row: Row, read: Date | null, active: boolean | null, why: string][] = [
  [{ timestamp: day(9, 10), pathname: '/old', ...disallowed('/old', 2) }, null, false, 'never read'],
  [
    { timestamp: day(10, 5), pathname: '/drafts/1', ...disallowed('/drafts', 3, true), ...byList(day(10, 3)) },
    ...[null, false, 'in the day of grace'],
  ],
  [
    { timestamp: day(11, 9), pathname: '/drafts/2', bytes: 70, ...disallowed('/drafts', 3), ...byList(day(10, 9)) },
    ...[day(11, 8), true, 'an hour after it was read, and at the moment of another read'],
  ],
  [
    {
      ...{ timestamp: day(13, 1), pathname: '/old', action: 'block', rule: 5, status: 403, content_type: 'text/plain' },
      ...{ ...disallowed('/old', 2), verified: true, verification: 'rdns' },
    },
    ...[day(11, 9), true, 'refused, and disallowed; the read of the 12th failed, and that of the 13th was elsewhere'],
  ],
  [
    { timestamp: day(13, 2), pathname: '/x', action: 'pay', rule: 6, status: 402, robots_allowed: true },
    ...[day(11, 9), null, 'refused alone, at the moment of another read'],
  ],
  [
    {
      ...{
        timestamp: day(14),
        pathname: '/old/<b>"\u202e',
        user_agent: HOSTILE,
        import_id: 3,
        ...disallowed('/old', 2),
      },
      ...{ hostname: 'gone.example', verification: 'unverifiable' },
    },
    ...[null, null, 'hostile text, on a hostname without versions, imported'],
  ],
] as const
const ELSEWHERE: readonly Row[] = [
  { timestamp: day(11, 8), pathname: '/robots.txt', robots_allowed: true },
  { timestamp: day(11, 9), pathname: '/robots.txt', robots_allowed: true },
  { timestamp: day(12, 8), pathname: '/robots.txt', robots_allowed: true, status: 503 },
  { timestamp: day(13), pathname: '/robots.txt', robots_allowed: true, hostname: 'two.example' },
  { timestamp: day(13, 2), pathname: '/robots.txt', robots_allowed: true },
  { timestamp: day(11, 10), pathname: '/drafts/2', ...disallowed('/drafts', 3), ...SPOOFED },
  { timestamp: day(11, 10), pathname: '/drafts/2', ...disallowed('/drafts', 3), ...SPOOFED },
  { timestamp: day(11, 11), pathname: '/', robots_allowed: true },
  { timestamp: day(11, 11), pathname: '/old', agent_id: 'claudebot', ...disallowed('/old', 2) },
  { timestamp: day(11, 11), pathname: '/old', site_id: 2, ...disallowed('/old', 2) },
  { timestamp: new Date('2026-08-01'), pathname: '/old', ...disallowed('/old', 2) },
  { timestamp: day(11, 11), pathname: '/let', action: 'allow', rule: 7 },
]

async function start(rows: readonly Row[]) {
  const store = await openStore(t)
  const agent = { agent_id: 'gptbot', operator: 'OpenAI', user_agent: 'GPTBot/1.2', bytes: 10 }
  await store.append({ events: [], agent_events: rows.map((row) => agentRow({ ...agent, ...row })) })
  const { workerClient } = await createInProcessEngine(t)
  const { records } = workerClient
  await bootstrap(records, { domains: ['example.com'], timezone: 'Europe/Berlin', now: NOW })
  const sites = createSites(records, async () => {})
  const version = (since: Date, until: Date, text: string) => ({
    ...{ since: since.toISOString(), until: until.toISOString(), standing: 'served', status: 200 },
    ...{ text, sha256: sha256(text) },
  })
  const versions = [version(day(10), day(22), SECOND), version(day(1), day(10), FIRST)]
  const deps = {
    ...{ store, now: () => NOW, catalog: listAgents(loadCatalog()), sites },
    policyVersions: async (_: number, { hostname, offset = 0, limit = 0 }: PolicyVersionsQuery) => {
      if (hostname !== 'example.com') throw new ApiError('not_found', 'no')
      const isShown = (i: number) => i >= Number(offset) && i < Number(offset) + Number(limit)
      return { versions: versions.map(({ text, ...one }, i) => ({ ...one, ...(isShown(i) && { text }) })) }
    },
  }
  const keys = createEvidenceKeys(records, randomBytes)
  const app = createApp({
    routes: evidenceRoutes({
      ...{ run: createRehearsalRunner(deps), sites, keys, pdf: createPdfRenderer(undefined), version: '1.2.3' },
      rulesOf: async () => [{ id: 5, name: 'No =old', changed_at: day(2) }],
    }),
    credentials: { keys: { authenticate: async () => t.fail('no key') as never, isActive: async () => true } },
    ...{ version: '0', now: () => NOW },
    log: (error) => (error instanceof ApiError ? undefined : t.fail(String(error))),
  })
  const call = (method: string, path: string, body?: string) =>
    app(new Request(`http://127.0.0.1${path}`, { method, ...(body !== undefined && { body }) }), {
      ...{ ip: '', operator: true },
    })
  return { call, records }
}
const ASKED = JSON.stringify({ site: 1, agent: 'gptbot', range: '30d' })

t.test('a folder states what the rows hold, and nothing of other rows', async (t) => {
  const { call, records } = await start([...IN_FOLDER.map(([row]) => row), ...ELSEWHERE].reverse())
  t.equal((await call('GET', '/api/evidence/key')).status, 404, 'no key before the first folder')
  const made = await call('POST', '/api/evidence', ASKED)
  t.equal(made.status, 200)
  const file = Buffer.from(await made.arrayBuffer())
  const { document, sha256: digest, fingerprint, signature } = readEvidence(file)

  const expected = IN_FOLDER.map(([row, read, read_active_version]) => ({
    ...{ at: row.timestamp?.toISOString(), pathname: row.pathname, status: row.status ?? 200 },
    ...{ proof: row.proof ?? null, proof_at: row.proof_at?.toISOString() ?? null, line: row.robots_line ?? null },
    ...{ robots_read_at: read?.toISOString() ?? null, read_active_version, imported: row.import_id === 3 },
  }))
  t.match(document.fetches, expected)
  t.equal(document.fetches.length, IN_FOLDER.length)
  t.match(document.counts, {
    ...{ fetches: 6, left_out: 0, bytes: 120, disallowed: 5, in_grace: 1, refused: 2, after_reading: 2 },
    ...{ spoofed: 2, imported: 1 },
    rows_sha256: sha256(document.fetches.map((fetch) => `${JSON.stringify(fetch)}\n`).join('')),
  })
  const rules = document.rules.map(({ hostname, pattern, line_text, sha256, fetches }) => [
    ...[hostname, pattern, line_text, sha256, fetches],
  ])
  const drafts = 'Disallow: /drafts # nur für Menschen'
  t.same(
    new Set(rules.map(String)),
    new Set(
      [
        ['example.com', '/drafts', drafts, sha256(SECOND), 2],
        ['example.com', '/old', 'Disallow: /old', sha256(FIRST), 1],
        ['example.com', '/old', 'Disallow: /old', sha256(SECOND), 1],
        ['gone.example', '/old', null, null, 1],
      ].map(String),
    ),
  )
  t.match(document.robots_txt, [
    { text: FIRST, sha256: sha256(FIRST), is_exact: true, since: day(1).toISOString(), until: day(10).toISOString() },
    { text: SECOND, sha256: sha256(SECOND), is_exact: true },
  ])
  t.match(document.own_rules, [
    { id: 5, action: 'block', name: 'No =old', fetches: 1 },
    { id: 6, action: 'pay', name: null, fetches: 1 },
  ])
  t.match(
    document.identity.find(({ verification }) => verification === 'ranges'),
    { proof: LIST, fetches: 2, first: day(10, 5).toISOString(), last: day(11, 9).toISOString(), oldest_s: 86_400 },
    'the copy of the 10th, 9:00 was a day old on the 11th, 9:00',
  )
  t.match(document.served, [
    { status: 200, fetches: 4 },
    { status: 403, content_type: 'text/plain', fetches: 1 },
    { status: 402, fetches: 1 },
  ])
  t.match(document.user_agents, [
    { user_agent: 'GPTBot/1.2', fetches: 5 },
    { user_agent: HOSTILE, fetches: 1 },
  ])
  t.match(document.robots_reads, [
    ...[{ at: day(11, 8).toISOString() }, { at: day(11, 9).toISOString() }],
    ...[{ at: day(12, 8).toISOString(), status: 503 }, { hostname: 'two.example' }, { at: day(13, 2).toISOString() }],
  ])
  const words = document.statements.join('\n')
  t.notMatch(
    words,
    /\b(?:ignored?|stole|knew|despite|in spite|caused?|violat\w+|breach)\b/i,
    'no claim beyond the rows',
  )
  t.match(words, /2 fetches were in the list that OpenAI publishes at https:\/\/openai\.com\/gptbot\.json/)

  const key = PublicKey.parse(await (await call('GET', '/api/evidence/key')).json())
  t.equal(key.kid, fingerprint, 'the key is served')
  const [, head = '', signed = ''] = /"signature": "([\w-]+)\.\.([\w-]+)"/.exec(file.toString()) ?? []
  const text = file.toString().slice('{\n"document": '.length, file.toString().indexOf(',\n"signature"'))
  const input = `${head}.${Buffer.from(text).toString('base64url')}`
  t.ok(
    verify(null, Buffer.from(input), createPublicKey({ key, format: 'jwk' }), Buffer.from(signed, 'base64url')),
    'the signature is a detached JWS that others can check',
  )
  t.same(JSON.parse(file.toString()).document, document, 'the file is JSON')
  const preview = Preview.parse(await (await call('GET', '/api/evidence?site=1&agent=gptbot&range=30d')).json())
  t.same(preview, { data: document, meta: { fingerprint } }, 'the preview says the same')
  const tomorrow = new Date(NOW.getTime() + 86_400_000).toISOString()
  const open = await call('GET', `/api/evidence?site=1&agent=gptbot&start=${document.window.start}&end=${tomorrow}`)
  t.equal(
    Preview.parse(await open.json()).data.window.end,
    NOW.toISOString(),
    'a window that has not ended ends when the folder is made',
  )
  const [entry, ...more] = await records.query(sql`select action, details from audit where object = 'evidence'`)
  t.match(entry, { action: 'create', details: new RegExp(digest) }, 'the audit log names the folder')
  t.same(more, [], 'the preview is not audited')

  const pdf = await call('POST', '/api/evidence/pdf?site=1', file.toString())
  const printed = await pdfText(new Uint8Array(await pdf.arrayBuffer()))
  for (const part of [digest, fingerprint, signature, sha256(SECOND), LIST])
    t.ok(printed.replaceAll('\n', '').includes(part), `the PDF names ${part}`)
  t.notOk(isDangerous(printed), 'the PDF has no characters that reverse or hide text')
  const changed = file.toString().replace('"/drafts/1"', '"/drafts/7"')
  t.equal((await call('POST', '/api/evidence/pdf?site=1', changed)).status, 422, 'a changed folder is not printed')
  const foreign = signEvidence(document, generateKeyPairSync('ed25519').privateKey).text
  t.equal(
    (await call('POST', '/api/evidence/pdf?site=1', foreign)).status,
    422,
    "another instance's folder is not printed",
  )
  const fresh = await start([])
  t.equal(
    (await fresh.call('POST', '/api/evidence/pdf?site=1', file.toString())).status,
    422,
    'nor by an instance that has no key yet',
  )

  await t.test('it is verified on another data directory, without an instance', async (t) => {
    const elsewhere = directory(t)
    const write = (name: string, text: string | Buffer) => {
      writeFileSync(join(elsewhere, name), text)
      return join(elsewhere, name)
    }
    const path = write('folder.json', file)
    const other = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
    const lied = signEvidence(
      { ...document, fetches: document.fetches.slice(1) },
      generateKeyPairSync('ed25519').privateKey,
    )
    const CASES: readonly [args: string[], code: number, says: RegExp, why: string][] = [
      [[path], 0, /That key came with the file: compare it/, 'without a key it says what it does not know'],
      [[path, '--key', fingerprint], 0, /which is the key that you named/, 'the fingerprint'],
      [[path, '--key', write('key.json', JSON.stringify(key))], 0, /which is the key that you named/, 'the key'],
      [[path, '--key', write('other.json', JSON.stringify(other))], 1, /is signed by the key/, 'another key'],
      [[path, '--key', 'A'.repeat(43)], 1, /and not by AAA/, 'another fingerprint'],
      [[write('cut.json', file.subarray(0, -5))], 1, /damaged or missing/, 'a truncated file'],
      [[write('flip.json', changed)], 1, /was changed after it was signed/, 'one flipped byte'],
      [[write('less.json', lied.text)], 1, /another number of fetches/, 'signed, but without a fetch'],
      [[write('key2.json', '{}')], 1, /not a folder of readership/, 'another file'],
      [[join(elsewhere, 'none.json')], 1, /cannot be read: ENOENT/, 'no file'],
    ]
    for (const [args, code, says, why] of CASES) {
      const result = await command('evidence', 'verify', ...args, '--data', elsewhere)
      t.equal(result.code, code, why)
      t.match(code === 0 ? result.stdout : result.stderr, says, why)
      t.notOk(isDangerous(result.stdout), 'nothing steers the terminal')
    }
    t.match(
      (await command('evidence', '--data', elsewhere)).stderr,
      /--agent: is missing: write the ID of an agent, such as --agent gptbot/,
      'no agent',
    )
    t.match((await command('evidence', 'verify', path)).stdout, /^Verified\.\n.*digest over the 6 fetches is right/s)
  })

  await t.test('each flipped byte of a folder is found', async (t) => {
    const small = Buffer.from(
      signEvidence(
        { ...document, statements: [], limits: [], robots_txt: [] },
        generateKeyPairSync('ed25519').privateKey,
      ).text,
    )
    t.ok(readEvidence(small))
    const missed: number[] = []
    for (const i of small.keys()) {
      const flipped = Buffer.from(small)
      flipped[i] = (flipped[i] ?? 0) ^ (1 << (i % 8))
      try {
        readEvidence(flipped)
        missed.push(i)
      } catch (error) {
        if (!(error instanceof EvidenceFault)) throw error
      }
    }
    t.same(missed, [])
    const end = '"\n}\n'
    const last = small.toString().slice(0, -end.length)
    for (const letter of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')
      if (!last.endsWith(letter))
        t.throws(
          () => readEvidence(Buffer.from(last.slice(0, -1) + letter + end)),
          /signature does not fit/,
          'last letter',
        )
  })
})

t.test('a folder lists the first thousand fetches, and its digest is over all', async (t) => {
  const many = Array.from({ length: 1_203 }, (_, i) => ({
    ...{ timestamp: new Date(day(11, 9).getTime() + i), pathname: `/old/${i}`, ...disallowed('/old', 2) },
  }))
  const { call } = await start(many)
  const document = Preview.parse(await (await call('GET', '/api/evidence?site=1&agent=gptbot')).json()).data
  t.equal(document.fetches.length, 1_000)
  const [first] = document.fetches
  // The fields stand in the order in which the API document lists them.
  const lines = many.map(({ timestamp, pathname }) =>
    JSON.stringify({ ...first, at: timestamp.toISOString(), pathname }),
  )
  t.match(document.counts, {
    ...{ fetches: 1_203, left_out: 203 },
    rows_sha256: sha256(`${lines.join('\n')}\n`),
  })
  t.match(document.limits.join('\n'), /203 fetches are counted, and are in the digest, but are not listed/)
})

t.test('several first folders at once get one key', async (t) => {
  const { workerClient } = await createInProcessEngine(t)
  const keys = () => createEvidenceKeys(workerClient.records, randomBytes)
  const made = await Promise.all([keys(), keys(), keys()].map((one) => one.getOrCreate(NOW)))
  const publics = made.map((key) => createPublicKey(key).export({ format: 'jwk' }).x)
  t.equal(new Set(publics).size, 1)
})
