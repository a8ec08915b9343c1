import t from 'tap'
import { createWatch } from '../../src/worker-client/watch.js'

t.test('a change of records that hangs is reported, whatever reads end meanwhile', async (t) => {
  const watch = createWatch({
    ping() {},
    work: () => ({ commit: undefined, change: 7 }),
    onBeat() {},
    log: { warn() {} },
    beat_ms: 1,
  })
  t.teardown(watch.stop)
  const position = { run: 'r', sequence: 0, human: 0, agent: 0, drops: {} }
  watch.receive({ type: 'ready', position, losses: [], writer: true })
  const judged = () => watch.judge<{ state: 'ready' | 'degraded'; reason?: string }>({ state: 'ready' })
  while (judged().state === 'ready') {
    watch.receive({ type: 'pong' })
    watch.receive({ type: 'rows', id: 8, rows: [] })
    await new Promise(setImmediate)
  }
  t.match(judged(), { state: 'degraded', reason: /^the store has not finished a change of the records for \d+ s$/ })
})
