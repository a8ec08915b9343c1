import { join } from 'node:path'
import t from 'tap'
import type { EdgeDelivery } from '../../../src/storage/edge-delivery.js'
import { sql } from '../../../src/storage/sql.js'
import { directory } from '../../fixtures/files.js'
import { openStoreAt } from '../../fixtures/store.js'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const MINUTE = 60_000
const DAY = 86_400_000

t.test('deliveries are kept while they can arrive again', async (t) => {
  const store = await openStoreAt(join(directory(t), 'events.duckdb'), { now: () => new Date(NOW), wal_bytes: 0 })
  t.teardown(() => store.close())
  const of = (
    signature: string,
    ago: number,
    sender: string | null = null,
    number: number | null = null,
  ): EdgeDelivery => ({
    ...{ site_id: 1, signature, sender, number, accepted_at: NOW - ago },
  })
  const all: [EdgeDelivery, boolean, string][] = [
    [of('a', 14 * MINUTE), true, 'its time may let it in'],
    [of('b', 16 * MINUTE), false, 'its time does not'],
    [of('c', 14 * MINUTE, 's1', 1), true, 'the same of a sender'],
    [of('d', 16 * MINUTE, 's1', 2), true, 'the highest number of its sender'],
    [of('e', 16 * MINUTE, 's2', 1), false, 'not the highest'],
    [of('f', 16 * MINUTE, 's2', 2), true, 'that is this'],
    [{ ...of('g', 16 * MINUTE, 's2', 1), site_id: 2 }, true, "another site's sender"],
    [of('h', 89 * DAY, 's3', 1), true, 'silent, and not gone'],
    [of('i', 91 * DAY, 's4', 1), false, 'gone'],
  ]
  const found = async () =>
    (await store.query(sql`select signature from deliveries order by signature`)).map(({ signature }) => signature)
  const mark = { run: '00000000000000aa', human: 0, agent: 0, drops: {} }
  const none = { events: [], agent_events: [] }
  await store.append(none, { ...mark, sequence: 1 }, { deliveries: all.map(([one]) => one) })
  for (const [{ signature }, kept, why] of all) t.equal((await found()).includes(signature), kept, why)
})
