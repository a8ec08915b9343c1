import { randomBytes } from 'node:crypto'
import { mock } from 'node:test'
import t from 'tap'
import { createAlerts } from '../../../src/manage/alerts.js'
import { startNotify } from '../../../src/manage/notify/notify.js'
import { createReports } from '../../../src/manage/reports.js'

t.test('alerts and reports are due once a minute of the clock, however long the timers took', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const records = { query: async () => [], write: async () => {} }
  const refuse = async () => Promise.reject(new Error('a process that does not write'))
  let at = Date.UTC(2026, 10, 21, 10)
  let minutes = -1
  const notify = startNotify({
    ...{ records, reports: createReports(records), alerts: createAlerts({ records, random: randomBytes }) },
    sites: { list: async () => [] },
    readDependencies: () => {
      throw new Error('a process that does not write')
    },
    ...{
      isWriter: () => false,
      ready: () => true,
      mail: undefined,
      post: refuse,
      draw: refuse,
      indexnow_url: undefined,
    },
    spans: {
      started: new Date(at),
      async extend() {
        minutes++
      },
      ...{ missingMs: async () => 0, began: async () => new Date(at), gaps: async () => [] },
    },
    ...{ now: () => new Date(at), random: randomBytes, log: { warn() {} } },
  })
  for (const [timers, clock, expected, why] of [
    [61_000, 0, 0, 'the clock stands still, as in a test of the whole service that takes longer than a minute'],
    [61_000, 59_999, 0, 'a clock that was set back during the minute'],
    [1_000, 1, 0, 'the minute is over, and its second has not passed'],
    [60_000, 1_000, 1, 'a second after the minute'],
    [59_999, 59_999, 1, 'before the next second after a minute'],
    [1, 1, 2, 'a second after the next minute'],
  ] as const) {
    at += clock
    mock.timers.tick(timers)
    await new Promise(setImmediate)
    t.equal(minutes, expected, why)
  }
  await notify.close()
})
