import type { DuckDBAppender } from '@duckdb/node-api'
import type { EdgeDelivery } from '../capture/edge-delivery.js'
import { type Sql, sql } from '../sql.js'
import { toTimestamp } from './query.js'

/** A signature is refused by its own time long before. */
const REPLAY_WINDOW_MS = 15 * 60_000
/** And a sender that was silent for so long is gone. */
const SENDER_EXPIRY_MS = 90 * 86_400_000

export function appendDeliveries(appender: DuckDBAppender, deliveries: readonly EdgeDelivery[]): void {
  const text = (value: string | null) => (value === null ? appender.appendNull() : appender.appendVarchar(value))
  for (const { site_id, signature, sender, number, accepted_at } of deliveries) {
    appender.appendInteger(site_id)
    text(signature)
    text(sender)
    if (number === null) appender.appendNull()
    else appender.appendBigInt(BigInt(number))
    appender.appendTimestamp(toTimestamp(new Date(accepted_at)))
    appender.endRow()
  }
}

/** Forgets what nobody can hand over again. The highest number of a sender stays while there is a sender. */
export const buildExpiredDeliveriesDelete = (now: Date): Sql => sql`
  delete from deliveries as old
  where accepted_at < ${new Date(now.getTime() - REPLAY_WINDOW_MS)}
    and (sender is null or accepted_at < ${new Date(now.getTime() - SENDER_EXPIRY_MS)}
      or number < (select max(number) from deliveries as all_of_it
        where all_of_it.site_id = old.site_id and all_of_it.sender = old.sender))`
