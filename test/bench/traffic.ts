import { listAgents, loadCatalog } from '../../src/agents/catalog.js'
import { openEvents } from '../../src/storage/duckdb/event-store.js'
import { openDatabaseFile } from '../../src/storage/duckdb/open.js'

interface Size {
  people: number
  agents: number
  paths: number
}

const DAYS = 90
const settings = { memory_limit: '2GB', threads: 2, temp_limit: '8GB' }
const clock = () => performance.now()

/** `list[1 + hash % n]`, in DuckDB's words. */
const one = (list: readonly string[], hash: string) =>
  `[${list.map((word) => `'${word.replaceAll("'", "''")}'`).join(', ')}][1 + (${hash} % ${list.length})::integer]`
/** Low numbers most often. */
const path = (hash: string, paths: number) =>
  `'/page/' || floor(power((${hash} % 1000000) / 1000000.0, 3) * ${paths})::bigint::varchar`

/**
 * Fills an events.duckdb with the 90 days before `end`: people in sessions of three hits on average, who come back and
 * whose ids change each month, one session in 20 suspected, and agents' fetches; in the order of their time, the same for the same arguments. With
 * `aggregated`, sessions are aggregated as the store would have done meanwhile.
 */
export async function fillTraffic(
  file: string,
  { people, agents, paths }: Size,
  end: Date,
  aggregated = true,
): Promise<void> {
  const opening = { file, settings, now: () => end, clock, log: () => {} }
  await (await openEvents(opening)).close()
  const { writer, close } = await openDatabaseFile(file, settings)
  try {
    const first = end.getTime() - DAYS * 86_400_000
    const [visits, fetches] = [people / DAYS / 3, agents / DAYS]
    for (let day = 0; day < DAYS; day++) {
      const from = `timestamp '${new Date(first + day * 86_400_000).toISOString().slice(0, 23).replace('T', ' ')}'`
      const numbers = (count: number) => `range(${Math.floor(day * count)}, ${Math.floor((day + 1) * count)})`
      await writer.run(peopleOf(from, numbers(visits), paths, people))
      await writer.run(agentsOf(from, numbers(fetches), paths))
    }
    await writer.run(`insert into sitemap_urls
      select 'example.com', '/page/' || range::varchar, null from range(${Math.floor(paths * 1.1)})`)
    await writer.run('checkpoint')
  } finally {
    close()
  }
  if (!aggregated) return
  const store = await openEvents(opening)
  await store.aggregate(new Date(end.getTime() - 2 * 3_600_000))
  await store.close()
}

const peopleOf = (from: string, numbers: string, paths: number, people: number): string => `
  insert into events by name
  select 1 as site_id, timestamp, kind, if(kind = 'custom', ${one(['signup', 'search', 'add_to_cart'], 'hash(s, h, 3)')}, null)
      as event_name, visitor_id, session_id, session_start, 'example.com' as hostname, ${path('hash(s, h, 2)', paths)} as pathname,
    200 as status, 20 as duration_ms, ${path('hash(s, 0, 2)', paths)} as entry_page,
    if(source is null, null, 'https://' || lower(source) || '.com/') as referrer, source,
    case when source is null then 'Direct' when source in ('Google', 'Bing') then 'Organic Search'
      when source in ('ChatGPT', 'Claude') then 'AI Assistants' else 'Referral' end as channel,
    if(hash(s, 4) % 20 = 0, 'newsletter', null) as utm_source, if(hash(s, 4) % 20 = 0, 'email', null) as utm_medium,
    if(hash(s, 4) % 20 = 0, 'week' || (hash(s, 4) % 12)::varchar, null) as utm_campaign,
    country, country || '-' || (hash(v, 7) % 9)::varchar as region, country || ' city ' || (hash(v, 8) % 50)::varchar as city,
    (hash(v, 9) % 3000)::integer as asn, browser, '14' || (hash(v, 10) % 9)::varchar as browser_version,
    ${one(['Windows', 'macOS', 'iOS', 'Android', 'Linux'], 'hash(v, 11)')} as os, '1' || (hash(v, 12) % 9)::varchar as os_version,
    ${one(['desktop', 'mobile', 'mobile', 'tablet'], 'hash(v, 13)')} as device_type,
    ${one(['xs', 'sm', 'md', 'lg', 'xl'], 'hash(v, 14)')} as screen_class, ${one(['en', 'de', 'fr'], 'hash(v, 15)')} as language,
    if(kind = 'pageview' and hash(s, h, 5) % 2 = 0, (hash(s, h, 6) % 60000)::integer, null) as engaged_ms,
    if(kind = 'pageview' and hash(s, h, 5) % 2 = 0, (hash(s, h, 7) % 101)::integer, null) as scroll,
    if(kind = 'custom', '{"plan":"' || ${one(['free', 'pro', 'team'], 'hash(s, h, 8)')} || '","value":"' || (hash(s, h, 9) % 500)::varchar
      || '","currency":"' || ${one(['EUR', 'USD'], 'hash(s, h, 10)')} || '"}', null) as props,
    if(kind = 'web_vitals', hash(s, h, 11) % 6000, null) as lcp, if(kind = 'web_vitals', (hash(s, h, 12) % 40) / 100.0, null) as cls,
    if(kind = 'web_vitals', hash(s, h, 13) % 700, null) as inp, if(kind = 'web_vitals', hash(s, h, 14) % 4000, null) as fcp,
    if(kind = 'web_vitals', hash(s, h, 15) % 2500, null) as ttfb,
    if(kind = 'error', '{"type":"TypeError","message":"x is not a function","frame":"app.js:1:2","fingerprint":"f'
      || (hash(s, h, 16) % 40)::varchar || '"}', null) as error,
    hash(s, 17) % 20 = 0 as suspected,
    case hash(s, 17) % 20 when 0 then 'headers:accept,network:hosting' when 1 then 'network:hosting' end as suspected_by,
    'server' as recorded_by
  from (
    select *, session_start + to_milliseconds(h * (5000 + (hash(s, 16) % 200000)::bigint)) as timestamp,
      case when h = 0 then 'pageview' else
        ['pageview', 'pageview', 'pageview', 'pageview', 'pageview', 'pageview', 'pageview', 'custom', 'web_vitals',
          if(hash(s, h, 17) % 4 = 0, 'error', 'outbound')][1 + (hash(s, h, 1) % 10)::integer] end as kind,
      ${one(['US', 'DE', 'FR', 'GB', 'IN', 'JP', 'BR', 'ES', 'IT', 'NL'], 'hash(v, 5)')} as country,
      ${one(['Chrome', 'Safari', 'Firefox', 'Edge'], 'hash(v, 6)')} as browser,
      hash(v, date_trunc('month', session_start), 'salt') as visitor_id, hash(s, 'session') as session_id
    from (
      select s, v, session_start, source, unnest(range((1 + hash(s, 18) % 5)::bigint)) as h
      from (
        select range as s, floor(power((hash(range, 19) % 1000000) / 1000000.0, 2) * ${Math.ceil(people / 8)})::bigint as v,
          ${from} + to_milliseconds((hash(range, 20) % 86400000)::bigint) as session_start,
          [null, null, null, 'Google', 'Google', 'Google', 'Bing', 'Reddit', 'GitHub',
            if(hash(range, 21) % 2 = 0, 'ChatGPT', 'Claude')][1 + (hash(range, 22) % 10)::integer] as source
        from ${numbers})))
  order by timestamp`

const AGENTS = listAgents(loadCatalog()).filter(({ purpose }) => /search|assistant|training|seo|monitor/.test(purpose))

function agentsOf(from: string, numbers: string, paths: number): string {
  const named = (field: 'agent_id' | 'operator' | 'purpose') =>
    one(
      AGENTS.map((agent) => agent[field]),
      'hash(n, 9)',
    )
  return `
    insert into agent_events by name
    select 1 as site_id, ${from} + to_milliseconds((hash(n, 20) % 86400000)::bigint) as timestamp, ${named('agent_id')} as agent_id,
      ${named('operator')} as operator, ${named('purpose')} as purpose, '1' as catalog_version, 'agent' as user_agent,
      [true, true, false, null][1 + (hash(n, 3) % 4)::integer] as verified,
      ['ranges', 'rdns', 'spoofed', 'indeterminate'][1 + (hash(n, 3) % 4)::integer] as verification,
      'GET' as method, 'example.com' as hostname, ${path('hash(n, 7)', paths)} as pathname,
      [200, 200, 200, 304, 404, 403][1 + (hash(n, 4) % 6)::integer] as status, 5000 as bytes, 10 as duration_ms,
      'text/html' as content_type, 0 as conditional, true as is_pageview, ${one(['US', 'DE'], 'hash(n, 21)')} as country,
      hash(n % 1000) as ip_hash, hash(n, 5) % 10 > 0 as robots_allowed, if(hash(n, 5) % 10 = 0, '/page/', null) as robots_rule,
      if(hash(n, 5) % 10 = 0, 3, null) as robots_line, 1 as llms_listed
    from (select range as n from ${numbers}) order by timestamp`
}
