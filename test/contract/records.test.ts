import t, { type Test } from 'tap'
import { openRecords } from '../../src/storage/duckdb/records.js'
import { directory } from '../fixtures/files.js'
import { noPostgres, openRecordsOn, startPostgres } from '../fixtures/postgres.js'
import { storeOptions } from '../fixtures/store.js'
import { journalContract } from './journal-contract.js'
import { postgresFaults } from './postgres-faults.js'
import { recordsContract } from './records-contract.js'

/**
 * Tests that run on PostgreSQL as they do on DuckDB. The first asks every route of the API, and compares each answer with
 * the one that DuckDB gave; the others change records in ways that no single call shows.
 */
const ON_BOTH = [
  'api/openapi',
  'api/site-records',
  'api/rules',
  'agents/policy/policy-monitor',
  'manage/login-sessions',
  'manage/imports',
  'manage/notify/deliveries',
  'history/other-tools/reads',
  'history/other-tools/pages',
]

const env = { ...process.env }
// Instants are in UTC, wherever the machine is: in Berlin an hour of the values comes twice, and another is left out.
process.env.TZ = 'Europe/Berlin'

t.test('records in DuckDB', async (t) => {
  const open = async (t: Test) => {
    const { file, ...options } = storeOptions(`${directory(t)}/control.duckdb`).options
    const records = await openRecords({ ...options, file })
    t.teardown(() => records.close())
    return records
  }
  recordsContract(t, open)
  journalContract(t, open)
})

t.test('records in PostgreSQL', { skip: noPostgres, timeout: 900_000 }, async (t) => {
  const server = await startPostgres(t)
  const open = async (t: Test) => {
    const records = await openRecordsOn(server.url, directory(t))
    t.teardown(() => records.close())
    return records
  }
  recordsContract(t, open)
  journalContract(t, open)
  Object.assign(env, { READERSHIP_TEST_RECORDS: server.url })
  for (const file of ON_BOTH)
    await t.spawn(process.execPath, [`dist/test/${file}.test.js`], { env }, `test/${file} with records in PostgreSQL`)
  postgresFaults(t, server)
})
