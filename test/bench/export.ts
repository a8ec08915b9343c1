import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { openEvents } from '../../src/storage/duckdb/event-store.js'
import { openDatabaseFile } from '../../src/storage/duckdb/open.js'

/** RSS that exporting a whole table may add to the process at its peak. */
const LIMIT_MB = 150

/**
 * `npm run bench -- export [--rows 1000000] [--engine]`: a table of so many rows as CSV over HTTP, to a client that reads
 * as fast as it can and to one that pauses; and the peak memory of the process that answers: the export's part alone,
 * over rows made as they are asked for, or aggregated with that of the worker, which has the store.
 */
export async function run(args: string[] = []): Promise<void> {
  const { values } = parseArgs({ args, options: { rows: { type: 'string' }, engine: { type: 'boolean' } } })
  const rows = Number(values.rows ?? 1_000_000)
  const data = values.engine ? await filled(rows) : undefined
  try {
    console.log(
      '| client | rows | MB | seconds | idle MB | peak MB | loop p99 ms | loop max ms |\n|---|---|---|---|---|---|---|---|',
    )
    for (const client of ['fast', 'slow'] as const) {
      const child = fork(new URL('./export-child.js', import.meta.url), [
        String(rows),
        ...(data === undefined ? [] : [data]),
      ])
      const { at, idle_mb } = await told(child, z.object({ at: z.string(), idle_mb: z.number() }))
      const from = performance.now()
      const found = await read(`${at}/api/stats/export.csv?site=1&report=pages&range=7d`, client === 'slow')
      const seconds = Math.round((performance.now() - from) / 100) / 10
      child.send('how was it')
      const Costs = z.object({ peak_mb: z.number(), turn_p99_ms: z.number(), turn_max_ms: z.number() })
      const { peak_mb, turn_p99_ms, turn_max_ms } = await told(child, Costs)
      child.disconnect()
      await once(child, 'exit')
      console.log(
        `| ${client} | ${found.lines - 1} | ${Math.round(found.bytes / 1e6)} | ${seconds} | ${idle_mb} | ${peak_mb} | ${turn_p99_ms} | ${turn_max_ms} |`,
      )
      if (found.lines !== rows + 1) throw new Error(`${found.lines} lines for ${rows} rows and a header`)
      if (!values.engine && peak_mb - idle_mb > LIMIT_MB) process.exitCode = 1
    }
  } finally {
    if (data !== undefined) rmSync(data, { recursive: true, force: true })
  }
}

async function told<T extends z.ZodType>(child: ChildProcess, schema: T): Promise<z.output<T>> {
  const [message] = await once(child, 'message')
  return schema.parse(message)
}

async function read(url: string, pauses: boolean): Promise<{ lines: number; bytes: number }> {
  const { body, status } = await fetch(url)
  if (status !== 200 || !body) throw new Error(`answered ${status}`)
  let [lines, bytes, next] = [0, 0, 2_000_000]
  for await (const part of body) {
    bytes += part.length
    for (const byte of part) if (byte === 10) lines++
    if (pauses && bytes > next) {
      next += 2_000_000
      await sleep(50)
    }
  }
  return { lines, bytes }
}

/** A data directory with a pageview on each of so many paths. */
async function filled(rows: number): Promise<string> {
  const data = mkdtempSync(join(tmpdir(), 'readership-bench-'))
  const file = join(data, 'events.duckdb')
  const settings = { memory_limit: '1GB', threads: 2, temp_limit: '8GB' }
  await (
    await openEvents({ file, settings, now: () => new Date(), clock: () => performance.now(), log: () => {} })
  ).close()
  const { writer, close } = await openDatabaseFile(file, settings)
  try {
    await writer.run(`insert into events by name
      select 1 as site_id, now()::timestamp - interval 1 day as timestamp, 'pageview' as kind, hash(range) as visitor_id,
        hash(range, 1) as session_id, now()::timestamp - interval 1 day as session_start, 'example.com' as hostname,
        '/page/' || range as pathname, 200 as status, '/page/' || range as entry_page, 'Direct' as channel,
        false as suspected, 'server' as recorded_by
      from range(${rows})`)
    await writer.run('checkpoint')
  } finally {
    close()
  }
  return data
}
