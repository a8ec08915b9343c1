import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { raw, sql } from '../../../src/storage/sql.js'
import { directory } from '../../fixtures/files.js'
import { eventRow } from '../../fixtures/rows.js'
import { openStoreAt } from '../../fixtures/store.js'

t.test('SQL reaches no file outside of the directory for backups', async (t) => {
  const data = directory(t)
  const backups = join(data, "it's", 'backup.tmp')
  const store = await openStoreAt(join(data, "it's", 'events.duckdb'))
  t.teardown(() => store.close())
  mkdirSync(backups)
  symlinkSync(data, join(backups, 'link'))
  const paths: [path: string, why: string][] = [
    [join(data, 'a.parquet'), 'elsewhere'],
    [`${backups}/../a.parquet`, 'a path that leads out of the directory'],
    [`${backups}x/a.parquet`, 'a name that begins like that of the directory'],
    [`${backups}/link/a.parquet`, 'a link that leads out of the directory'],
  ]
  for (const [path, why] of paths) {
    const target = raw(`'${path.replaceAll("'", "''")}'`)
    await t.rejects(store.query(sql`copy (select 1) to ${target} (format parquet)`), { code: 'database_error' }, why)
    await t.rejects(store.query(sql`select * from read_text(${path})`), { code: 'database_error' }, why)
  }
  t.same(readdirSync(data), ["it's"])
  await store.snapshot?.((snapshot) => snapshot.writeParquet('a.parquet', sql`select 1 as one`))
  t.same(await store.query(sql`select * from read_parquet(${join(backups, 'a.parquet')})`), [{ one: 1 }])
})

t.test('a snapshot does not see what is stored meanwhile, and keeps nothing from being stored', async (t) => {
  const store = await openStoreAt(join(directory(t), 'events.duckdb'))
  t.teardown(() => store.close())
  const count = sql`select count(*) as n from events`
  await store.append({ events: [eventRow()], agent_events: [] })
  const seen = await store.snapshot?.(async ({ query }) => {
    await store.append({ events: [eventRow(), eventRow({ visitor_id: 99n, session_id: 99n })], agent_events: [] })
    await store.remove({ site: 1, visitor: 99n })
    return [await query(count), await store.query(count)]
  })
  t.same(seen, [[{ n: 1 }], [{ n: 2 }]])
})
