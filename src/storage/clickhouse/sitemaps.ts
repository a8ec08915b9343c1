import type { ClickHouseClient } from '@clickhouse/client'
import { sql } from '../sql.js'
import { insertRows, runWrite } from './statements.js'

/** Replaces the stored URLs of a hostname's sitemaps; until it has ended, a read may see those of before too. */
export async function replaceSitemap(
  { client, number }: { client: ClickHouseClient; number: bigint },
  hostname: string,
  urls: readonly { pathname: string; lastmod: Date | null }[],
): Promise<void> {
  await insertRows(client, {
    table: 'sitemap_urls',
    columns: ['hostname', 'pathname', 'lastmod', 'ver', 'is_deleted'],
    values: urls.map(({ pathname, lastmod }) => [hostname, pathname, lastmod, String(number), 0]),
  })
  await runWrite(
    client,
    sql`insert into sitemap_urls (hostname, pathname, ver, is_deleted)
      select hostname, pathname, ${number}, 1 from sitemap_urls where hostname = ${hostname} and ver < ${number}`,
  )
}
