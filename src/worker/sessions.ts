import { z } from 'zod'
import { type OpenSession, SESSION_TIMEOUT } from '../record/session.js'
import { sql } from '../sql.js'
import type { Store } from '../store.js'

const text = z.string().nullable()
const Row = z.object({
  visitor_id: z.string(),
  session_id: z.string(),
  session_start: z.date(),
  last_seen: z.date(),
  entry_page: text,
  referrer: text,
  source: text,
  channel: z.string(),
  utm_source: text,
  utm_medium: text,
  utm_campaign: text,
  utm_content: text,
  utm_term: text,
})

/** Characters of text that are read back at most: a flood of long ones must not fill the memory of each new start. */
const TEXTS = 16 << 20

/** The sessions that were running at `at`, so that a restart splits none (contract 3: 30 minutes without a hit). */
export async function openSessions(store: Pick<Store, 'query'>, at: Date): Promise<OpenSession[]> {
  const rows = await store.query(sql`
    select * from (select visitor_id, session_id, min(session_start) as session_start, max(timestamp) as last_seen,
      min(entry_page) as entry_page, min(referrer) as referrer, min(source) as source, min(channel) as channel,
      min(utm_source) as utm_source, min(utm_medium) as utm_medium, min(utm_campaign) as utm_campaign,
      min(utm_content) as utm_content, min(utm_term) as utm_term
    from events where timestamp > ${new Date(at.getTime() - SESSION_TIMEOUT)}
    group by visitor_id, session_id)
    qualify sum(100 + length(concat(entry_page, referrer, source, utm_source, utm_medium, utm_campaign, utm_content,
      utm_term))) over (order by last_seen desc, session_id rows unbounded preceding) <= ${TEXTS}
    order by last_seen, session_id`)
  return rows.map((row) => {
    const { visitor_id, session_id, session_start, last_seen, ...arrival } = Row.parse(row)
    const id = (hex: string) => BigInt(`0x${hex}`)
    return { visitor_id: id(visitor_id), session_id: id(session_id), session_start, last_seen, arrival }
  })
}
