import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createAccounts } from '../../src/manage/accounts/accounts.js'
import { createManage } from '../../src/manage/manage.js'
import { createPasswords } from '../../src/manage/passwords.js'
import type { Records } from '../../src/storage/store.js'
import { createInProcessEngine } from '../fixtures/in-process-worker.js'

const now = () => new Date('2026-11-21T10:00:00.000Z')

t.test('an organisation that is created during a registration goes to its own creator', async (t) => {
  const { records } = (await createInProcessEngine(t)).workerClient
  let meanwhile: (() => Promise<unknown>) | undefined
  const slow: Records = {
    query: records.query,
    async write(...statements) {
      await records.write(...statements)
      // A request at the same moment waits for the lock, or has finished.
      const asked = meanwhile?.()
      meanwhile = undefined
      await Promise.race([asked, sleep(200)])
    },
  }
  const random = (n: number) => randomBytes(n)
  const manage = createManage({ records: slow, now, random, onSitesChanged: async () => {} })
  const accounts = createAccounts({
    ...manage,
    records: slow,
    passwords: createPasswords(),
    mayTry: () => true,
    now,
    random,
  })
  const registering = (email: string) =>
    accounts.registration.register({ email, name: 'N', organisation: 'Tides', password: 'x' }, '')
  const ann = await registering('ann@example.com')
  let bob: ReturnType<typeof registering> | undefined
  meanwhile = () => {
    bob = registering('bob@example.com')
    return bob
  }
  const made = await manage.orgs.create('Tides', ann.id, now(), { kind: 'user', name: ann.email })
  const second = await bob
  manage.members.invalidate()
  const orgsOf = async (user = 0) => (await manage.members.ofUser(user)).map(({ org }) => org)
  t.strictSame([made.id, await orgsOf(ann.id), await orgsOf(second?.id)], [2, [1, 2], [3]])
})
