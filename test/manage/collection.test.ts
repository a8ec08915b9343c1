import t from 'tap'
import { createGoals } from '../../src/manage/goals.js'
import { createSegments } from '../../src/manage/segments.js'
import { raw, sql } from '../../src/storage/sql.js'
import { deed } from '../fixtures/audit-context.js'
import { createInProcessEngine } from '../fixtures/in-process-worker.js'

const goal = { site: 1, name: 'Thanks', type: 'page' as const, match: { op: 'is', value: '/thanks' } }

t.test('a failed write changes nothing and does not block the next one', async (t) => {
  const { records } = (await createInProcessEngine(t)).workerClient
  const goals = createGoals(records)
  t.equal((await goals.create(goal, deed)).id, 1)
  await records.write(raw('alter table goals rename to gone'))
  await t.rejects(goals.create({ ...goal, name: 'second' }, deed), { code: 'database_error' })
  await t.rejects(
    goals.change(1, async (now) => ({ ...now, name: 'x' }), deed),
    { code: 'database_error' },
  )
  await t.rejects(goals.delete(1, deed), { code: 'database_error' })
  await records.write(raw('alter table gone rename to goals'))
  t.strictSame(await goals.list(1), [{ id: 1, version: 1, ...goal }])
  t.equal(
    (await goals.create({ ...goal, name: 'second' }, deed)).id,
    2,
    'the id of the one that failed was not used up',
  )
})

t.test('concurrent changes build on one another', async (t) => {
  const { records } = (await createInProcessEngine(t)).workerClient
  const segments = createSegments(records)
  const german = { dimension: 'country', op: 'is' as const, value: 'DE' }
  await segments.create({ site: 1, name: 'All', filters: [], shared: true }, deed)
  const add = () => segments.change(1, async (now) => ({ ...now, filters: [...now.filters, german] }), deed)
  await Promise.all([add(), add(), add()])
  t.equal((await segments.get(1)).filters.length, 3, 'none is lost')
  const fails = segments.change(1, async () => Promise.reject(new Error('refused')), deed)
  await t.rejects(fails, { message: 'refused' })
  t.strictSame(await createSegments(records).get(1), await segments.get(1), 'as it is on disk')
})

t.test('a record whose site is deleted while it is created returns not_found, not another record', async (t) => {
  const { records } = (await createInProcessEngine(t)).workerClient
  await createGoals(records).create(goal, deed)
  const goals = createGoals({
    query: records.query,
    // Acts as the deletion of site 2 a moment later: its transaction runs before the table is read again.
    async write(...statements) {
      await records.write(...statements)
      await records.write(sql`delete from goals where site = 2`)
    },
  })
  await t.rejects(goals.create({ ...goal, site: 2, name: 'Mine' }, deed), { code: 'not_found', field: 'site' })
  t.strictSame(await goals.list(1), [{ id: 1, version: 1, ...goal }])
})
