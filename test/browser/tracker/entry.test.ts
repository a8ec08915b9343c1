import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'

const run = promisify(execFile)

/** An application's server runs the same code as its pages, and has no visitor to count. */
t.test('readership/tracker does nothing on a server', async (t) => {
  const { stdout, stderr } = await run(process.execPath, [
    '--input-type=module',
    '-e',
    `const before = Object.keys(globalThis).length
    const tracker = await import('readership/tracker')
    tracker.start({ site: 1, endpoint: 'http://127.0.0.1:9/api/track' })
    tracker.track('Signup', { plan: 'pro' })
    tracker.identify('ann', {})
    tracker.optOut()
    console.log(Object.keys(tracker).sort().join(), Object.keys(globalThis).length - before)`,
  ])
  t.equal(stdout, 'identify,optOut,start,track 0\n', 'nothing happens, and nothing is left')
  t.equal(stderr, '')
})
