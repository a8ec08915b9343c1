import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packBatch } from '../../src/capture/packed-batch.js'
import { raw, sql } from '../../src/storage/sql.js'
import { observation } from '../fixtures/observations.js'
import { FAILING_WORKER, ROW_COUNTS, startTestEngine, waitFor } from '../fixtures/worker-client.js'

/*
 * The attack: the worker's process is stopped, so that it neither answers nor ends, or a commit of the store hangs, as on a
 * disk that does not respond. The attack succeeds if a request to the store waits for ever, if the state stays `ready`, or if
 * a change that was reported as failed is made when the worker goes on.
 */

/** Half of the real one: a busy machine must not take a starved worker for a silent one. */
const BEAT_MS = 1_000
const people = (count: number, name = 'page') =>
  Array.from({ length: count }, () => observation({ pathname: `/${name}` }))
const addOrganisation = (n: number) => sql`insert into organisations (id, name, created_at, require_totp)
  values (${n}, ${`o${n}`}, ${new Date(0)}, false)`

t.test('a stopped worker ends every request, is reported, and makes no change that was given up', async (t) => {
  const { engine, lines } = await startTestEngine(t, { beat_ms: BEAT_MS })
  const worker = engine.status().worker?.pid ?? 0
  const stream = engine.events.stream(sql`select range as n from range(300000)`)[Symbol.asyncIterator]()
  await stream.next()
  process.kill(worker, 'SIGSTOP')
  t.teardown(() => process.kill(worker, 'SIGCONT'))
  const recorded = engine.record(packBatch(people(3)))
  const readAll = async () => {
    while (!(await stream.next()).done);
  }
  const refused = { code: 'database_error', message: /does not respond/ }
  await Promise.all([
    t.rejects(engine.events.query(ROW_COUNTS), refused, 'a read'),
    t.rejects(engine.records.query(raw('select 1')), refused, 'a read of records'),
    t.rejects(readAll(), refused, 'a stream that had begun'),
    t.rejects(engine.call('holdings'), refused, 'a call'),
    t.rejects(engine.call('take_backup', []), refused, 'a long call'),
    t.rejects(engine.records.write(addOrganisation(7)), refused, 'a change'),
  ])
  t.match(engine.status(), { state: 'degraded', reason: /^the worker's process has not responded for \d+ s$/ })
  await t.rejects(engine.records.write(addOrganisation(8)), refused, 'a change while it is known to be silent')
  t.match(lines.join('\n'), /the store hangs/)
  process.kill(worker, 'SIGCONT')
  await recorded
  await waitFor(() => engine.status().state === 'ready', 'ready again')
  t.match(lines.join('\n'), /the store responds again/)
  t.strictSame(await engine.events.query(ROW_COUNTS), [{ human: 3, agent: 0 }], 'the rows waited')
  t.strictSame(
    await engine.records.query(raw('select id from organisations where id > 1')),
    [],
    'no change was made late',
  )
  t.equal(engine.status().restarts, 0)
})

t.test('a commit that hangs is reported, and reads go on', async (t) => {
  const { engine, data } = await startTestEngine(t, { beat_ms: BEAT_MS, entry: FAILING_WORKER })
  const recorded = engine.record(packBatch(people(1, 'hang')))
  const reason = /^the store has not finished a commit for \d+ s; rows wait$/
  await waitFor(() => reason.test(engine.status().reason ?? ''), 'reported')
  t.equal(engine.status().state, 'degraded')
  t.strictSame(await engine.events.query(ROW_COUNTS), [{ human: 0, agent: 0 }], 'a read')
  writeFileSync(join(data, 'go'), '')
  await recorded
  await waitFor(() => engine.status().state === 'ready', 'ready after the commit')
})

t.test('a worker that is killed from outside again and again gives up no batch', async (t) => {
  const { engine, data } = await startTestEngine(t, { entry: FAILING_WORKER })
  const recorded = Promise.all([people(1, 'hang'), people(5)].map((rows) => engine.record(packBatch(rows))))
  for (let kill = 1; kill <= 4; kill++) {
    const pid = () => engine.status().worker?.pid ?? 0
    await waitFor(() => existsSync(join(data, `hangs-${pid()}`)), `the batch is in work before kill ${kill}`)
    process.kill(pid(), 'SIGKILL')
    await waitFor(() => engine.status().restarts === kill, `restart ${kill}`)
  }
  writeFileSync(join(data, 'go'), '')
  await recorded
  t.strictSame(await engine.events.query(ROW_COUNTS), [{ human: 6, agent: 0 }])
})
