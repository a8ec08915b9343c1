import t from 'tap'
import { importContract } from '../../contract/import-contract.js'
import { openStore } from '../../fixtures/open-store.js'
import { findWrongDailyCounts } from '../../fixtures/wrong-daily-counts.js'

importContract(t, openStore, Number(process.env.IMPORT_RUNS ?? 8), async (store) => {
  t.strictSame(await findWrongDailyCounts(store), [], 'days are counted again')
})
