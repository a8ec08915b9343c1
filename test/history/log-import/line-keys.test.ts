import t from 'tap'
import { createLineKeys } from '../../../src/worker/import/line-keys.js'

/** Tests that what is remembered of a log's lines is bounded, whatever their times are. */

const START = Date.UTC(2026, 2, 10)
const lineAt = (time: number, log = 0) => ({
  ...{ time, log, address: '192.0.2.1', host: '', method: 'GET', target: '/', status: 200, bytes: 1 },
  ...{ duration_ms: null, referrer: '', user_agent: 'GPTBot', type: '', page: true, headers: null },
})

t.test('lines of another log are repeated while their keys are remembered', async (t) => {
  const rows: [later: number, between: number, expected: boolean, why: string][] = [
    [0, 0, true, 'at once'],
    [0, 9, true, 'after more lines of one time than a generation holds'],
    [0, 20, false, 'after more than two generations'],
    [86_400_000, 0, true, 'one line far ahead ends one generation'],
    [86_400_000, 20, false, 'and later generations end by their size'],
  ]
  for (const [later, between, expected, why] of rows) {
    const keyOf = createLineKeys('secret', 8)
    const { key } = keyOf(lineAt(START))
    keyOf(lineAt(START + later + 1))
    for (let n = 0; n < between; n++) keyOf(lineAt(START + 2 + n))
    t.strictSame(keyOf(lineAt(START, 1)), { key, isRepeated: expected }, why)
  }
})
