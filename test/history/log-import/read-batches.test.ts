import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadCatalog } from '../../../src/agents/catalog.js'
import { openLogFiles } from '../../../src/app/cli/log-files.js'
import { compileLogFormat } from '../../../src/history/access-logs/custom-format.js'
import type { LogChunk } from '../../../src/history/access-logs/read-lines.js'
import { followBatches, readBatches } from '../../../src/history/log-import/read-batches.js'
import { directory } from '../../fixtures/files.js'

/** Tests what is sent of a log that becomes no row. */

const DEPS = { catalog: loadCatalog(), latest: Number.POSITIVE_INFINITY, onBroken() {}, onFault() {}, onRead() {} }

t.test('an import of broken lines says how far it is, and that it runs', async (t) => {
  const path = join(directory(t), 'broken.log')
  writeFileSync(path, 'no request\n'.repeat(450_000))
  const format = compileLogFormat('combined')
  const { logs } = await openLogFiles([path], { format, flag: '--format', tz: 'UTC', stdin: undefined })
  const sent: number[] = []
  let [isWriting, tooEarly] = [false, 0]
  const counts = await readBatches(logs, {
    ...DEPS,
    onBroken() {
      if (isWriting) tooEarly++
    },
    async onRead() {
      isWriting = true
      await new Promise(setImmediate)
      isWriting = false
    },
    async send({ time }, { lines }) {
      t.equal(time.length, 0)
      sent.push(Math.floor(lines / 100_000))
    },
  })
  t.match(counts, { lines: 450_000, broken: 450_000 })
  t.strictSame(sent, [2, 4])
  t.equal(tooEarly, 0, 'reading waits until broken lines are written')
})

t.test('so does a silent log that is followed, and ends when that fails', async (t) => {
  // The timers of the following do not keep a process that has nothing else to do.
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(alive))
  const silence = (async function* (): AsyncGenerator<LogChunk> {
    await new Promise(() => {})
  })()
  let sent = 0
  const following = followBatches({ parse: () => 'skip' }, silence, {
    ...DEPS,
    interval_ms: 1,
    async send() {
      if (++sent === 3) throw new Error('The import was undone.')
    },
  })
  await t.rejects(following, { message: 'The import was undone.' })
  t.equal(sent, 3)
})
