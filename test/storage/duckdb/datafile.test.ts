import { spawnSync } from 'node:child_process'
import t from 'tap'
import { directory } from '../../fixtures/files.js'

t.test('a process whose working directory was deleted fails, and does not spin', async (t) => {
  const program = `
    const { openDataFile } = await import(${JSON.stringify(new URL('../../../src/storage/duckdb/datafile.js', import.meta.url).href)})
    process.chdir(${JSON.stringify(directory(t))})
    fs.rmdirSync(process.cwd())
    await openDataFile({ file: 'a/b/events.duckdb' })`
  const { status, signal, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', `import fs from 'node:fs'\n${program}`],
    {
      timeout: 60_000,
      killSignal: 'SIGKILL',
      encoding: 'utf8',
    },
  )
  t.strictSame([status, signal], [1, null])
  t.match(stderr, /ENOENT/)
})
