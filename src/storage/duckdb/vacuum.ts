import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { StoreOpenError } from '../../base/errors.js'
import { DuckDBInstance } from './bindings.js'
import { isOpenHere } from './open.js'

/**
 * Replaces a file by a copy of what it contains, if that is smaller: DuckDB's files do not shrink by themselves. Throws
 * DuckDB's error if another process has the file open, and `StoreOpenError`; nothing is changed then.
 */
export async function vacuumFile(file: string, memory_limit: string): Promise<{ before: number; after: number }> {
  if (isOpenHere(file)) throw new StoreOpenError(`${file} is still open in this process`)
  const copy = `${file}.vacuum`
  const before = sizeOf(file)
  const { bavail, bsize } = statfsSync(dirname(file))
  if (bavail * bsize < before)
    throw new StoreOpenError(`A copy of ${file} needs up to ${before} bytes of free disk, and there are fewer`)
  removeFile(copy)
  const instance = await DuckDBInstance.create(':memory:', {
    threads: '1',
    memory_limit,
    temp_directory: `${file}.tmp`,
  })
  try {
    const connection = await instance.connect()
    await copyFile(connection, file, copy)
    const after = sizeOf(copy)
    // While the file is open here, no other process can open it.
    if (after < before) replaceFile(file, copy)
    connection.disconnectSync()
    return { before, after: Math.min(before, after) }
  } finally {
    instance.closeSync()
    removeFile(copy)
    rmSync(`${file}.tmp`, { recursive: true, force: true })
  }
}

/** Copies all tables, and checks that each is whole. */
async function copyFile(connection: DuckDBConnection, file: string, copy: string): Promise<void> {
  const quote = (text: string) => `'${text.replaceAll("'", "''")}'`
  // Attached for writing: its log is folded in, and no other process can open it meanwhile.
  await connection.run(`attach ${quote(file)} as stored`)
  await connection.run('checkpoint stored')
  await connection.run(`attach ${quote(copy)} as copied (storage_version 'latest')`)
  chmodSync(copy, 0o600)
  await connection.run('copy from database stored to copied')
  await connection.run('checkpoint copied')
  const listed = await connection.runAndReadAll(
    "select table_name from duckdb_tables() where database_name = 'stored' order by table_name",
  )
  for (const [name] of listed.getRows()) {
    const counts = await connection.runAndReadAll(
      `select (select count(*) from stored."${name}"), (select count(*) from copied."${name}")`,
    )
    const [[inFile, inCopy] = []] = counts.getRows()
    if (inFile !== inCopy)
      throw new StoreOpenError(`${name} has ${inFile} rows and its copy ${inCopy}: nothing was changed`)
  }
  await connection.run('detach copied')
}

const sizeOf = (file: string) => statSync(file).size

function removeFile(file: string): void {
  for (const path of [file, `${file}.wal`]) rmSync(path, { force: true })
}

/** A crash leaves the file or its copy, whole; neither has a log, because of the checkpoints. */
function replaceFile(file: string, copy: string): void {
  const sync = (path: string) => {
    const descriptor = openSync(path, 'r')
    fsyncSync(descriptor)
    closeSync(descriptor)
  }
  sync(copy)
  renameSync(copy, file)
  sync(dirname(file))
}
