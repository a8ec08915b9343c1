import { openEvents } from '../../src/duckdb/event-store.js'
import { openDatabaseFile } from '../../src/duckdb/open.js'

/** Fills an events.duckdb with `rows` pageviews of the last 90 days, in the order of their time, in SQL alone. */
export async function fillPast(file: string, rows: number): Promise<void> {
  const settings = { memory_limit: '1GB', threads: 2, temp_limit: '8GB' }
  const clock = () => performance.now()
  const store = await openEvents({ file, settings, now: () => new Date(), clock, log: () => {} })
  await store.close()
  const { writer, close } = await openDatabaseFile(file, settings)
  try {
    const step = (90 * 86_400_000) / rows
    // A session is three pageviews in a row, a visitor four sessions at four times of the window.
    for (let from = 0; from < rows; from += 500_000) {
      await writer.run(`insert into events
        select 1, instant, 'pageview', null, hash((n // 3) % ${Math.ceil(rows / 12)}), hash(n // 3, 1),
          beginning + to_milliseconds(((n // 3) * 3 * ${step})::bigint), 'example.com',
          '/page/' || (hash(n, 2) % 2000)::varchar, 200, (hash(n, 3) % 300)::integer,
          '/page/' || (hash(n // 3, 4) % 2000)::varchar, if(source = 'Google', 'https://www.google.com/', null),
          source, if(source is null, 'Direct', 'Organic Search'), null, null, null, null, null,
          ['DE', 'US', 'FR', 'GB', 'IN'][1 + (hash(n // 3, 6) % 5)::integer], null, null,
          (hash(n // 3, 7) % 60000)::integer, browser, '137', 'Windows', '10', 'desktop', null, 'en', null, null, null,
          null, null, 'server', false, null, null, null, null, null, null, null, null, null
        from (select range as n, now()::timestamp - interval 90 days as beginning,
          beginning + to_milliseconds((range * ${step})::bigint) as instant,
          ['Chrome', 'Firefox', 'Safari', 'Edge'][1 + (hash(range // 3, 8) % 4)::integer] as browser,
          case hash(range // 3, 5) % 3 when 0 then 'Google' when 1 then 'Bing' end as source
          from range(${from}, ${Math.min(rows, from + 500_000)}))`)
    }
    await writer.run('checkpoint')
  } finally {
    close()
  }
}
