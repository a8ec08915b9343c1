import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { openStores } from '../../src/storage/duckdb/open-files.js'
import { storeOptions } from '../fixtures/store.js'
import { openBenchFile } from './reads.js'

/** Tables by which the two files of an instance know each other. */
const BINDING = ['schema_versions', 'openings', 'site_ids']

/** Makes the data directory of an instance whose site 1 has the rows of the bench file of that size; returns its folder. */
export async function makeDataDirectory(size: { people: number; agents: number; paths: number }): Promise<string> {
  const data = join(mkdtempSync(join(tmpdir(), 'readership-bench-')), 'data')
  mkdirSync(data)
  const { settings, ...common } = storeOptions('').options
  const files = { events: settings, records: settings }
  const stores = await openStores({ ...common, data, settings: files, random: randomBytes })
  await stores.events.close()
  await stores.records.close()
  const [events, empty] = [join(data, 'events.duckdb'), join(data, 'empty.duckdb')]
  renameSync(events, empty)
  cpSync(await openBenchFile(size), events)
  const instance = await DuckDBInstance.create(events)
  const connection = await instance.connect()
  await connection.run(`attach '${empty}' as empty (read_only)`)
  for (const table of BINDING)
    await connection.run(`delete from ${table}; insert into ${table} select * from empty.${table}`)
  await connection.run('detach empty; checkpoint')
  connection.closeSync()
  instance.closeSync()
  return data
}
