import type { ClickHouseClient } from '@clickhouse/client'
import { z } from 'zod'
import { ClickHouseOpenError } from './client.js'

/** With a clock that is further off, rows would lie in other months and sessions than the server's own times say. */
const MAX_DIFFERENCE_MS = 300_000
const Clock = z.object({ now: z.coerce.number() })

/** By how many milliseconds at least the clocks of this machine and of the server differ. */
export async function readClockDifference(client: ClickHouseClient, now: () => Date): Promise<number> {
  const before = now().getTime()
  const result = await client.query({ query: 'select toUnixTimestamp64Milli(now64(3)) as now', format: 'JSONEachRow' })
  const [row] = await result.json()
  const server = Clock.parse(row).now
  const after = now().getTime()
  return server >= before && server <= after ? 0 : Math.min(Math.abs(server - before), Math.abs(server - after))
}

/** Throws `ClickHouseOpenError` if the clocks of this machine and of the server differ by more than five minutes. */
export async function requireSameClock(client: ClickHouseClient, now: () => Date): Promise<void> {
  const difference = await readClockDifference(client, now)
  if (difference > MAX_DIFFERENCE_MS)
    throw new ClickHouseOpenError(
      `The clocks of this machine and of the ClickHouse server differ by ${Math.round(difference / 60_000)} minutes.`,
    )
}
