import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { listenControl, socketPath } from '../../../src/api/server.js'
import { sql } from '../../../src/storage/sql.js'
import { command } from '../../fixtures/command.js'
import { dataDir } from '../../fixtures/instance.js'
import { openStoreAt } from '../../fixtures/store.js'

/** Counts and sums of every column that rows are found by; equal for equal rows. */
const CONTENT = sql`
  select count(*) as rows, sum(hash(site_id, timestamp, pathname, bytes)::hugeint)::varchar as hashes,
    (select count(*) from schema_versions) as versions, (select sum(last) from site_ids) as ids
  from agent_events`

t.test('store vacuum gives back what erased rows have left, and no row is another one', async (t) => {
  const data = dataDir(t)
  mkdirSync(data)
  const file = join(data, 'events.duckdb')
  t.match(await command('store', 'vacuum', '--data', data), { code: 1, stderr: /^error: No events\.duckdb in / })
  await (await openStoreAt(file)).close()
  const instance = await DuckDBInstance.create(file)
  const connection = await instance.connect()
  await connection.run(`insert into agent_events (site_id, timestamp, pathname, bytes, user_agent)
    select 1 + x % 2, timestamp '2026-01-01' + to_seconds(x), '/' || hash(x), x, md5(x::varchar) from range(400000) t(x)`)
  await connection.run('checkpoint')
  connection.disconnectSync()
  instance.closeSync()

  const store = await openStoreAt(file)
  for (let more = true; more; ) more = (await store.remove({ site: 1, hostnames: [] })).more
  const expected = await store.query(CONTENT)
  const size = await store.readSize?.()
  await t.rejects((await import('../../../src/storage/duckdb/vacuum.js')).vacuumFile(file, '256MB'), {
    message: /still open/,
  })
  await store.close()
  const before = statSync(file).size
  t.ok((size?.free_bytes ?? 0) > before / 4, `${size?.free_bytes} of ${before} bytes are free in the file`)

  const result = await command('store', 'vacuum', '--data', data)
  t.match(result, { code: 0, stdout: /events\.duckdb had [\d.]+ MB and has [\d.]+ MB: [\d.]+ MB are free\.\n$/ })
  const after = statSync(file)
  t.ok(after.size < before * 0.8, `${before} bytes became ${after.size}`)
  t.equal(after.mode & 0o777, 0o600)
  t.same(readdirSync(data), ['events.duckdb'], 'nothing is left')
  const again = await openStoreAt(file)
  t.same(await again.query(CONTENT), expected, 'the rows are the same')
  t.equal(expected[0]?.rows, 200_000)
  await again.append({ events: [], agent_events: [] })
  await again.close()
  t.match(await command('store', 'vacuum', '--data', data), { code: 0, stdout: /there is nothing to give back/ })
})

t.test('with a running instance it folds the log in, and says how to go on', async (t) => {
  const data = dataDir(t)
  mkdirSync(data)
  const size = (used_bytes: number, free_bytes: number) => ({ used_bytes, free_bytes, tables: [] })
  const control = await listenControl(
    async ({ method, url }) =>
      Response.json(
        method === 'POST' && url.endsWith('/control/store/vacuum')
          ? { data: { before: size(5_000_000, 1_000_000), after: size(3_000_000, 4_000_000) } }
          : {},
      ),
    socketPath(data),
  )
  t.teardown(() => control.close())
  t.match(await command('store', 'vacuum', '--data', data), {
    code: 0,
    stdout:
      /^Rows take 3\.0 MB; 2\.0 MB were freed now, .* free 4\.0 MB of the file first\.\nTo give these back .* stop readership/,
  })
})
