import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createChangeRelay } from '../../src/worker/change-relay.js'

t.test('changes of other processes are read once the worker is open, several at once', async (t) => {
  const events: string[] = []
  const changes = createChangeRelay({
    onReloaded: () => events.push('reloaded'),
    log: (_, message) => events.push(message),
  })
  changes.add()
  await sleep(100)
  changes.add()
  t.same(events, [], 'the worker is opening')
  let isAway = false
  changes.open(async () => {
    events.push('reads')
    if (isAway) throw new Error('away')
  })
  await sleep(100)
  t.same(events.splice(0), ['reads', 'reloaded'], 'what was heard meanwhile')
  isAway = true
  for (let n = 0; n < 3; n++) changes.add()
  await sleep(100)
  const failed = 'the sites that another process has changed cannot be read'
  t.same(events, ['reads', failed, 'reloaded'], 'the site’s process hears of it all the same')
  t.equal(changes.count(), 5)
})
