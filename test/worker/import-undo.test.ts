import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createImports } from '../../src/manage/imports.js'
import { hashSessionId } from '../../src/worker/ingest/session-memory.js'
import { createRemovalStep } from '../../src/worker/removal.js'
import { undoContract } from '../contract/undo-contract.js'
import { directory } from '../fixtures/files.js'
import { openStore } from '../fixtures/open-store.js'
import { eventRow } from '../fixtures/rows.js'
import { openRecordsAt } from '../fixtures/store.js'

undoContract(t, openStore, Number(process.env.UNDO_RUNS ?? 3))

t.test('what an import noted about sessions leaves with the rows of a person, and with expired rows', async (t) => {
  const [events, records] = [await openStore(t), await openRecordsAt(directory(t))]
  t.teardown(() => records.close())
  const imports = createImports(records, randomBytes)
  const at = (hour: number) => new Date(Date.UTC(2026, 10, 20, hour))
  const { entry_page, referrer, source, channel, utm_source, utm_medium, utm_campaign, utm_content, utm_term } =
    eventRow()
  const arrival = { entry_page, referrer, source, channel, utm_source, utm_medium, utm_campaign, utm_content, utm_term }
  const session = (visitor: bigint, hour: number) => ({
    ...{ session_id: hashSessionId(visitor, +at(hour)), session_start: at(hour), arrival },
  })
  const [own, others, old] = [session(7n, 10), session(8n, 10), session(8n, 5)]
  for (const site of [1, 2]) {
    const created = await imports.create({ site, source: '-', format: null, created_at: at(12), total: null })
    await imports.addSessions(created, [own, others, old])
  }
  await events.append({ events: [eventRow({ visitor_id: 7n, timestamp: at(10) })], agent_events: [] })
  const remove = createRemovalStep({
    ...{ store: events, imports, writer: { runExclusive: (work) => work() } },
    ...{ sessions: { forget: () => [] }, views: { forget() {} } },
  })
  const left = async (site: number) => {
    const noted = await imports.readSessions(site, at(0), at(23))
    return noted.map(({ session_id }) => session_id).sort()
  }
  const ids = (...of: readonly { session_id: bigint }[]) => of.map(({ session_id }) => session_id).sort()
  await remove({ site: 1, key: 'a', visitor: '0000000000000007' })
  t.same(await left(1), ids(others, old), 'a person is erased')
  await remove({ site: 1, before: at(9) })
  t.same(await left(1), ids(others), 'what began before 9:00 is removed')
  t.same(await left(2), ids(own, others, old), 'another site')
})
