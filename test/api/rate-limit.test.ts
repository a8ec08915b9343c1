import t from 'tap'
import { createRateLimit } from '../../src/api/rate-limit.js'

const MINUTE = 60_000
function open(more: { per?: number; most?: number } = {}) {
  const state = { now: 10 * MINUTE, salts: 0 }
  const random = (bytes: number) => {
    state.salts += 1
    return Buffer.alloc(bytes, state.salts)
  }
  const limit = createRateLimit({ now: () => state.now, random, ...more })
  const many = (n: number, site = 1, ip = '1.2.3.4') => Array.from({ length: n }, () => limit.take(site, ip))
  return { state, limit, many }
}

t.test('600 are allowed in a minute of the clock, for each site and address', async (t) => {
  const { state, limit, many } = open()
  t.ok(many(600).every(Boolean))
  t.equal(limit.take(1, '1.2.3.4'), false, 'the 601st')
  t.equal(limit.take(2, '1.2.3.4'), true, 'another site')
  t.equal(limit.take(1, '1.2.3.5'), true, 'another address')
  t.equal(limit.take(1, '::ffff:1.2.3.4'), false, 'the same address as IPv6 writes it')
  state.now += MINUTE - 1
  t.equal(limit.take(1, '1.2.3.4'), false, 'the last millisecond')
  state.now += 1
  t.ok(many(600).every(Boolean), 'the next window')
  t.equal(limit.take(1, '1.2.3.4'), false)
  state.now -= 2 * MINUTE
  t.equal(limit.take(1, '1.2.3.4'), true, 'a clock that was set back does not keep anyone out')
})

t.test('IPv6 addresses of one /64 count as one', async (t) => {
  const rows: [string, string, boolean, string][] = [
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true, 'one /64'],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false, 'the /64 beside it'],
    ['2001:db8:1:2::1', '2001:DB8:0001:2:0:0:0:1', true, 'another way to write it'],
    ['1.2.3.4', '1.2.3.5', false, 'IPv4 is counted whole'],
    ['0.0.0.1', '::1', false, 'no IPv4 is an IPv6'],
    ['', 'nonsense', true, 'not an address'],
  ]
  for (const [one, other, same, why] of rows) {
    const { limit } = open({ per: 1 })
    t.ok(limit.take(1, one))
    t.equal(limit.take(1, other), !same, why)
  }
})

t.test('each window has a salt of its own', async (t) => {
  const { state, many } = open()
  many(5)
  t.equal(state.salts, 1)
  state.now += MINUTE
  many(5)
  t.equal(state.salts, 2)
  state.now += 10 * MINUTE
  t.equal(state.salts, 2, 'no salt is drawn without requests')
})

t.test('counted addresses are bounded, and the oldest makes room', async (t) => {
  const { state, limit } = open({ per: 2, most: 1_000 })
  const address = (n: number) => `${(n >> 24) & 255}.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`
  for (let n = 0; n < 1_000_000; n++) limit.take(1, address(n))
  t.equal(limit.size, 1_000)
  t.ok(limit.take(1, address(999_999)))
  t.notOk(limit.take(1, address(999_999)), 'the last is remembered')
  t.ok(limit.take(1, address(0)))
  t.ok(limit.take(1, address(0)), 'the first was not')
  state.now += MINUTE
  limit.take(1, '1.2.3.4')
  t.equal(limit.size, 1, 'a window is over for all')
  t.equal(open().limit.size, 0)
})
