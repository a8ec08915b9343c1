import type { ClickHouseClient } from '@clickhouse/client'
import { z } from 'zod'
import { ClickHouseOpenError } from './client.js'

/** With a clock that is further off, rows would lie in other months and sessions than the server's own times say. */
const MAX_DIFFERENCE_MS = 300_000
const Clock = z.object({ now: z.coerce.number() })

/** Throws `ClickHouseOpenError` if the clocks of this machine and of the server differ by more than five minutes. */
export async function requireSameClock(client: ClickHouseClient, now: () => Date): Promise<void> {
  const before = now().getTime()
  const result = await client.query({ query: 'select toUnixTimestamp64Milli(now64(3)) as now', format: 'JSONEachRow' })
  const [row] = await result.json()
  const server = Clock.parse(row).now
  const difference = Math.min(Math.abs(server - before), Math.abs(server - now().getTime()))
  if (difference > MAX_DIFFERENCE_MS)
    throw new ClickHouseOpenError(
      `The clocks of this machine and of the ClickHouse server differ by ${Math.round(difference / 60_000)} minutes.`,
    )
}
