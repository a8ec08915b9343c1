import t from 'tap'
import { loadConfig } from '../../../src/app/config.js'
import { openInstance } from '../../../src/app/instance/open-instance.js'
import { createOpeningInstance } from '../../../src/app/instance/opening-instance.js'
import { directory } from '../../fixtures/files.js'

const CASES = [
  [true, 'rejected', 'without a site, a start that is not complete ends the process'],
  [false, 'fulfilled', 'with a site, the site is served all the same'],
] as const

for (const [isTriedOnce, status, why] of CASES) {
  t.test(why, async (t) => {
    const lines: string[] = []
    const note = (_: object, message: string) => void lines.push(message)
    const log = { info() {}, warn: note, error: note }
    const config = loadConfig({ flags: { data: directory(t), offline: true }, env: {}, read: () => undefined })
    const onOpen = async () => {
      throw new Error('the control socket cannot be opened')
    }
    const instance = createOpeningInstance(config, { log, isTriedOnce, onOpen })
    const [opened] = await Promise.allSettled([instance.open()])
    t.equal(opened.status, status)
    t.same(lines, isTriedOnce ? [] : ['the start is not complete'])
    await instance.close()
    const next = await openInstance(config, { log })
    await next.close()
    t.pass('the next process opens the store')
  })
}
