import { seeded } from '../fixtures/random.js'
import { LISTS, QUESTION, rehearse, WINDOW } from '../oracle/rehearsal-cases.js'
import { comparable, expectRehearsal, randomRows, SITEMAPS } from '../oracle/rehearsed.js'
import { checkOnClickHouse, openOn } from './on-clickhouse.js'

checkOnClickHouse((t, server) =>
  t.test('rehearsals on ClickHouse equal the recount', async (t) => {
    const rows = randomRows(seeded(7), WINDOW.start, 2, 300)
    const store = await openOn(t, server)
    await store.append(rows)
    for (const [why, rules] of LISTS)
      t.same(comparable(await rehearse(store, QUESTION, rules, SITEMAPS)), expectRehearsal(rows, rules, WINDOW), why)
  }),
)
