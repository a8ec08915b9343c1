import type { ClickHouseClient } from '@clickhouse/client'
import { sql } from '../sql.js'
import { erase } from './removal.js'

/** Expired deliveries are deleted when this many were added. */
export const MAX_NEW_DELIVERIES = 10_000
/** A signature expires long before. */
const REPLAY_WINDOW_MS = 15 * 60_000
/** A sender that was silent for this long is gone. */
const SENDER_EXPIRY_MS = 90 * 86_400_000

/** Deletes deliveries that cannot arrive again. The highest number of a sender stays while the sender exists. */
export const eraseExpiredDeliveries = (client: ClickHouseClient, now: Date): Promise<void> =>
  erase(
    client,
    'deliveries',
    sql`accepted_at < ${new Date(now.getTime() - REPLAY_WINDOW_MS)}
      and (sender is null or accepted_at < ${new Date(now.getTime() - SENDER_EXPIRY_MS)}
        or (site_id, sender, number) not in (
          select site_id, sender, max(number) from deliveries where sender is not null group by site_id, sender))`,
  )
