import { readFileSync } from 'node:fs'
import t from 'tap'
import { z } from 'zod'
import { createSuspicion } from '../../../src/worker/ingest/suspicion.js'
import { AWS, view } from '../../fixtures/person-view.js'

/**
 * The heads that real browsers sent to the proxy, each different one once, without addresses and paths: written by
 * `npm run bench -- suspected 16 test/worker/ingest/fixtures/browser-heads.jsonl`.
 */
const Head = z.strictObject({
  browser: z.string(),
  scheme: z.enum(['http', 'https']),
  kind: z.enum(['page', 'hit']),
  user_agent: z.string(),
  headers: z.record(z.string(), z.string()),
  head_form: z.string().optional(),
})
type Head = z.output<typeof Head>
const heads = readFileSync('test/worker/ingest/fixtures/browser-heads.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line) => Head.parse(JSON.parse(line)))

/** Returns the signals against a visitor with this head on a hostname whose visitors send everything that Chromium does. */
function judge({ kind, user_agent, headers, head_form }: Head, asn?: number) {
  const suspicion = createSuspicion()
  for (let n = 0; n < 120; n++) {
    const id = BigInt(1_000 + n)
    suspicion.judge(view({ visitor_id: id, session: id, ip: `84.160.1.${n}`, head_form: '2myzpuae' }))
  }
  const one = view({ user_agent, headers, head_form, ...(asn !== undefined && { asn }) })
  return kind === 'page' ? suspicion.judge(one) : suspicion.judgeHit(one)
}

t.test('nothing but a rented server speaks against a head of a real browser', async (t) => {
  const counts = [/^Chromium /, /^Firefox /, /^WebKitGTK /].map((name) => {
    const recorded = heads.filter(({ browser }) => name.test(browser))
    return recorded.filter(({ kind }) => kind === 'page').length >= 8 && recorded.some(({ kind }) => kind === 'hit')
  })
  t.strictSame(counts, [true, true, true], 'pages and hits of three browsers are recorded')
  for (const head of heads) {
    const why = `${head.browser}, ${head.scheme}, ${head.kind}: ${head.user_agent}`
    t.strictSame(judge(head), { suspected: false, suspected_by: null }, why)
    t.strictSame(judge(head, AWS), { suspected: false, suspected_by: 'network:hosting' }, `${why}: on a rented server`)
  }
})

t.test('the same heads, had a script left out or changed a part', async (t) => {
  const faults: [(head: Head) => Head, string, string][] = [
    [lacking('sec-fetch-mode'), 'headers:no_navigation', 'without Sec-Fetch'],
    [lacking('accept-language'), 'headers:no_language', 'without a language'],
    [lacking('accept'), 'headers:accept', 'without Accept'],
    [lacking('accept-encoding'), 'headers:no_gzip', 'without compression'],
    [
      (head) => ({ ...head, headers: { ...head.headers, 'sec-ch-ua': '"HeadlessChrome";v="147"' } }),
      'headers:client_hints',
      'with hints of a headless Chromium',
    ],
  ]
  // WebKitGTK under its own name claims no browser that sends known headers.
  const pages = heads.filter(({ kind, user_agent }) => kind === 'page' && !/X11.* Version\//.test(user_agent))
  for (const [change, by, why] of faults)
    for (const head of pages) t.equal(judge(change(head)).suspected_by, by, `${why}: ${head.user_agent}`)
})

function lacking(name: string): (head: Head) => Head {
  return (head) => ({
    ...head,
    headers: Object.fromEntries(Object.entries(head.headers).filter(([key]) => key !== name)),
  })
}
