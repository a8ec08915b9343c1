import t from 'tap'
import { createLease } from '../../../src/storage/records/lease.js'

t.test('the age of the last renewal that was read decides whether some process writes', async (t) => {
  let now = 0
  let row = { epoch: 3, instance: 'other', address: 'http://other', renewals: 10 }
  let isAway = false
  const query = async () => {
    if (isAway) throw new Error('away')
    return [row]
  }
  const lease = createLease({
    records: { query, write: async () => {} },
    instance: 'me',
    address: '',
    clock: () => now,
  })
  t.equal(lease.status(), undefined, 'not read yet')
  type Row = [at: number, change: () => void, held: boolean, age: number, why: string]
  const rows: Row[] = [
    [0, () => {}, true, 0, 'a holder'],
    [2, () => (row = { ...row, renewals: 11 }), true, 0, 'which renews'],
    [12, () => {}, true, 10, 'ten seconds without a renewal'],
    [13, () => {}, false, 11, 'more: it is dead'],
    [14, () => (row = { ...row, renewals: 12 }), true, 0, 'it was only slow'],
    [20, () => (isAway = true), true, 6, 'the records are away'],
    [26, () => {}, false, 12, 'for long'],
    [27, () => (isAway = false), false, 13, 'they are back, and it has not renewed'],
    [28, () => (row = { ...row, epoch: 4, renewals: 0 }), true, 0, 'another one has taken over'],
    [29, () => (row = { ...row, instance: '' }), false, 1, 'it has ended in order'],
  ]
  for (const [at, change, held, age_seconds, why] of rows) {
    now = at * 1_000
    change()
    await lease.watch().catch(() => {})
    t.strictSame(lease.status(), { held, epoch: row.epoch, age_seconds }, why)
  }
})
