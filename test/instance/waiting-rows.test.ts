import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CHROME, dataDir, eventually, startInstance, startOrigin } from '../fixtures/instance.js'
import { openStoreAt } from '../fixtures/store.js'

/*
 * The attack: kill -9 while the store is still being opened. The attack succeeds if a page that was seen more than a second
 * before is lost, or if one is stored twice because its file outlived its commit.
 */

t.test('pages that were seen while the store opened survive kill -9, once', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const data = dataDir(t)
  const waiting = join(data, 'waiting')
  const rowsOnDisk = () =>
    (existsSync(waiting) ? readdirSync(waiting) : [])
      .map((name) => /-(\d+)\.rows$/.exec(name)?.[1])
      .reduce((sum, count) => sum + Number(count ?? 0), 0)
  mkdirSync(data)
  const held = await openStoreAt(join(data, 'events.duckdb'))
  const opening = await startInstance(origin.url, data)
  t.teardown(() => opening.stop('SIGKILL'))
  for (let n = 0; n < 5; n++) {
    const response = await fetch(`${opening.site}/${n}`, { headers: { 'user-agent': CHROME } })
    await response.text()
  }
  await eventually('all pages are on disk', () => rowsOnDisk() === 5)
  await opening.stop('SIGKILL')
  await held.close()
  cpSync(waiting, `${data}.copy`, { recursive: true })

  for (const why of ['after the kill', 'with the files of rows that are stored already'] as const) {
    cpSync(`${data}.copy`, waiting, { recursive: true })
    const next = await startInstance(origin.url, data)
    t.teardown(() => next.stop('SIGKILL'))
    await eventually('the files are gone', () => !existsSync(waiting))
    t.equal(await next.pageviews(), 5, why)
    await next.stop()
  }
})
