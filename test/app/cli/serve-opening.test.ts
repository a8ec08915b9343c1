import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { EVENTS_SCHEMA } from '../../../src/storage/duckdb/events-schema.js'
import { openFilePair, openRecordsAlone } from '../../../src/storage/duckdb/file-pair.js'
import { RECORDS_SCHEMA } from '../../../src/storage/records/records-schema.js'
import { command } from '../../fixtures/command.js'
import { directory } from '../../fixtures/files.js'
import { eventually, freePort } from '../../fixtures/instance.js'

const OLD_EVENTS = EVENTS_SCHEMA.slice(0, -2)

t.test('serve listens while it migrates, and says how far it is', async (t) => {
  const data = directory(t)
  const files = { memory_limit: '64MB', threads: 1, log: () => {} }
  const old = await openFilePair(data, { ...files, migrations: { events: OLD_EVENTS, records: RECORDS_SCHEMA } })
  await old.close()
  // The hits are migrated first. Then the opening waits for the records, which this process has open, for five seconds.
  const records = await openRecordsAlone(data, files)
  const port = await freePort()
  const child = spawn(process.execPath, [
    'dist/bin/readership.js',
    ...['serve', '--data', data, '--host', '127.0.0.1', '--port', `${port}`, '--offline'],
  ])
  t.teardown(() => child.kill('SIGKILL'))
  const ask = (path: string, accept = '*/*') => fetch(`http://127.0.0.1:${port}${path}`, { headers: { accept } })
  const readyz = async () => {
    const response = await ask('/readyz')
    return { status: response.status, text: await response.text() }
  }
  const expected = {
    data: { state: 'starting', reason: 'events.duckdb is migrated, all steps are done and are written' },
  }
  await eventually('the migration is reported', async () => (await readyz()).text === JSON.stringify(expected))
  const [ready, alive, read, page] = await Promise.all([
    readyz(),
    ask('/healthz'),
    ask('/api/stats/overview?site=1&range=7d'),
    ask('/?lang=de', 'text/html'),
  ])
  t.equal(ready.status, 503)
  t.equal(alive.status, 200)
  t.same([read.status, read.headers.get('retry-after')], [503, '5'])
  t.match(await read.json(), {
    error: { code: 'database_error', message: /^The store is being opened: events\.duckdb is migrated, / },
  })
  t.same([page.status, page.headers.get('refresh')], [503, '5'], 'the page loads itself again')
  t.match(await page.text(), /Daten werden geöffnet[\s\S]*events\.duckdb is migrated/)
  await records.close()
  await eventually('the store is open', async () => (await readyz()).status === 200)
  t.equal((await ask('/', 'text/html')).status, 200, 'the dashboard is there')
  child.kill('SIGTERM')
  t.same(await once(child, 'exit'), [0, null])
})

t.test('serve ends with one line where the store cannot be opened', async (t) => {
  const data = directory(t)
  const migrations = { events: [], records: [...RECORDS_SCHEMA, ['create table later (value integer)']] }
  const newer = await openRecordsAlone(data, { memory_limit: '64MB', threads: 1, log: () => {}, migrations })
  await newer.close()
  const { code, stderr } = await command('serve', '--port', '0', '--host', '127.0.0.1', '--data', data, '--offline')
  t.equal(code, 1)
  t.match(stderr, /^error: [^\n]*control\.duckdb has schema version [^\n]*\n$/)
})
