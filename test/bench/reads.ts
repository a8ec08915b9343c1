import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadCatalog } from '../../src/agents/catalog.js'
import { listing } from '../../src/agents/listing.js'
import { openFile } from '../../src/duckdb/open.js'
import { openEvents } from '../../src/duckdb/store.js'
import { runRead } from '../../src/query/read.js'
import { reads } from '../../src/reads/index.js'
import { ASSISTANTS } from '../../src/record/source.js'

/**
 * `npm run bench -- reads [rows] [URLs]`: milliseconds of each read of agents over so many fetches and so many pageviews
 * (1,000,000 each) of 90 days and so many URLs (50,000), one thread, no HTTP.
 */
export async function run([rows = '1000000', paths = '50000']: string[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'))
  const file = join(folder, 'events.duckdb')
  const settings = { memory_limit: '512MB', threads: 1, temp_limit: '8GB' }
  const opening = { file, settings, now: () => new Date(), clock: () => performance.now(), log: () => {} }
  try {
    await (await openEvents(opening)).close()
    await fill(file, Number(rows), Number(paths))
    const store = await openEvents(opening)
    const now = new Date()
    const owns = () => true
    const deps = {
      store,
      now: () => now,
      site: async (id: number) => ({ id, timezone: 'Europe/Berlin', visitor_salt: 'month', owns }) as const,
      segment: async () => undefined,
      catalog: listing(loadCatalog()),
      assistants: ASSISTANTS,
      blocked: async () => ({
        within: [{ hostname: 'example.com', patterns: ['/page/1'] }],
        blocks: async (urls: readonly { pathname: string }[]) =>
          urls.map(({ pathname }) => pathname.startsWith('/page/12')),
      }),
    }
    const asked: [path: string, more: string][] = [
      ['agents/overview', ''],
      ['agents/breakdown', 'dimension=pathname'],
      ['agents/breakdown', 'dimension=agent_id'],
      ['agents/timeseries', 'limit=8'],
      ['agents/coverage', ''],
      ['agents/coverage', 'order=stale&limit=1000'],
      ['agents/catalog', ''],
      ['citation-gap', ''],
      ['citation-gap', 'operator=OpenAI'],
      ['citation-gap/summary', ''],
      ['policy/violations', ''],
      ['content/decay', ''],
    ]
    console.log('| read | 90 d ms | 30 d ms | rows |\n|---|---|---|---|')
    for (const [path, more] of asked) {
      const read = reads.find((each) => each.path === `/api/${path}`)
      if (!read) throw new Error(path)
      const ask = async (range: string) => {
        const times: number[] = []
        let total = 0
        for (let i = 0; i < 3; i++) {
          const from = performance.now()
          const { meta } = await runRead(read, new URLSearchParams(`site=1&range=${range}&${more}`), deps)
          times.push(performance.now() - from)
          total = meta.total ?? meta.rows
        }
        return { ms: Math.round(Math.min(...times)), total }
      }
      const [long, short] = [await ask('90d'), await ask('30d')]
      console.log(`| ${path}${more && `?${more}`} | ${long.ms} | ${short.ms} | ${long.total} |`)
    }
    await store.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Fetches and pageviews in the order of their time, the low paths most often, in SQL alone. */
async function fill(file: string, rows: number, paths: number): Promise<void> {
  const { writer, close } = await openFile(file, { memory_limit: '1GB', threads: 2, temp_limit: '8GB' })
  const step = (90 * 86_400_000) / rows
  const path = (n: string) =>
    `'/page/' || floor(power((hash(${n}, 2) % 1000000) / 1000000.0, 3) * ${paths})::bigint::varchar`
  const one = (list: readonly string[], n: string) =>
    `[${list.map((word) => `'${word}'`).join(', ')}][1 + (hash(${n}) % ${list.length})::integer]`
  const agents = listing(loadCatalog()).filter(({ purpose }) => /search|assistant|training|seo|monitor/.test(purpose))
  const named = (field: 'agent_id' | 'operator' | 'purpose') => {
    const list = agents.map((agent) => `'${agent[field].replaceAll("'", "''")}'`)
    return `[${list.join(', ')}][1 + (hash(n, 9) % ${list.length})::integer]`
  }
  try {
    for (let from = 0; from < rows; from += 500_000) {
      const range = `(select range as n, now()::timestamp - interval 90 days as beginning,
        beginning + to_milliseconds((range * ${step})::bigint) as instant,
        beginning + to_milliseconds(((range // 3) * 3 * ${step})::bigint) as started
        from range(${from}, ${Math.min(rows, from + 500_000)}))`
      await writer.run(`insert into events by name
        select 1 as site_id, instant as timestamp, 'pageview' as kind, hash((n // 3) % ${Math.ceil(rows / 12)}) as visitor_id,
          hash(n // 3, 1) as session_id, started as session_start, 'example.com' as hostname, ${path('n')} as pathname,
          200 as status, ${path('n - n % 3')} as entry_page,
          if(hash(n // 3, 5) % 20 = 0, ${one(['ChatGPT', 'Claude', 'Perplexity'], 'n // 3, 6')}, null) as source,
          if(hash(n // 3, 5) % 20 = 0, 'AI Assistants', 'Direct') as channel, 'Chrome' as browser, false as suspected,
          'server' as recorded_by
        from ${range}`)
      await writer.run(`insert into agent_events by name
        select 1 as site_id, instant as timestamp, ${named('agent_id')} as agent_id, ${named('operator')} as operator,
          ${named('purpose')} as purpose, '1' as catalog_version, 'agent' as user_agent,
          [true, true, false, null][1 + (hash(n, 3) % 4)::integer] as verified,
          ['ranges', 'rdns', 'spoofed', 'indeterminate'][1 + (hash(n, 3) % 4)::integer] as verification,
          'GET' as method, 'example.com' as hostname, ${path('n, 7')} as pathname,
          [200, 200, 200, 304, 404, 403][1 + (hash(n, 4) % 6)::integer] as status, 5000 as bytes, 10 as duration_ms,
          'text/html' as content_type, 0 as conditional, true as is_pageview, hash(n % 1000) as ip_hash,
          hash(n, 5) % 10 > 0 as robots_allowed, if(hash(n, 5) % 10 = 0, '/page/', null) as robots_rule,
          if(hash(n, 5) % 10 = 0, 3, null) as robots_line, 1 as llms_listed
        from ${range}`)
    }
    await writer.run(`insert into sitemap_urls
      select 'example.com', '/page/' || range::varchar, null from range(${paths + paths / 10})`)
    await writer.run('checkpoint')
  } finally {
    close()
  }
}
