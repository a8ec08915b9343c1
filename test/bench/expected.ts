import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { openEvents } from '../../src/storage/duckdb/event-store.js'
import { generatorExists, readGeneratedRows, runGenerator } from '../fixtures/event-generator.js'
import { compareWithGenerator } from '../oracle/generator-answers.js'

/**
 * `npm run bench -- expected [events]`: the generator's events (1,000,000) as rows, and its own answers beside the
 * reads'. Exit code 1 where one differs.
 */
export async function run([events = '1000000']: string[]): Promise<void> {
  if (!generatorExists()) return console.log('no generator: ../shared/bench is not there')
  const folder = mkdtempSync(join(tmpdir(), 'bench-'))
  const clock = () => performance.now()
  const settings = { memory_limit: '1GB', threads: 2, temp_limit: '8GB' }
  const seconds = (from: number) => `${((clock() - from) / 1000).toFixed(1)} s`
  try {
    const began = clock()
    const expected = runGenerator(folder, Number(events))
    console.log(`${events} events made in ${seconds(began)}`)
    const file = join(folder, 'events.duckdb')
    const store = await openEvents({ file, settings, now: () => new Date(), clock, log: console.error })
    const loading = clock()
    for await (const rows of readGeneratedRows(folder, 20_000)) {
      const pages = rows.filter(({ kind }) => kind === 'pageview').map((row) => ({ ...row, site_id: 2 }))
      await store.append({ events: [...rows, ...pages], agent_events: [] })
    }
    console.log(`loaded, and the pageviews once more, in ${seconds(loading)}`)
    const asking = clock()
    const all = await compareWithGenerator(store, expected)
    console.log(`asked in ${seconds(asking)}`)
    const wrong = all.filter(([, found, wanted]) => !isDeepStrictEqual(found, wanted))
    for (const [what, found, wanted] of wrong) console.log(what, { found, wanted })
    console.log(`${all.length - wrong.length} of ${all.length} come out exactly`)
    if (wrong.length > 0) process.exitCode = 1
    await store.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
