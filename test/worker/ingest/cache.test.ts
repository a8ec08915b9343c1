import t from 'tap'
import { createRecentCache, memoize } from '../../../src/base/cache.js'

t.test('forgets what was not read lately', async (t) => {
  const recent = createRecentCache<string, number>(4)
  for (const [i, key] of ['a', 'b', 'c'].entries()) recent.set(key, i)
  t.equal(recent.get('a'), 0, 'read, so kept')
  for (const [i, key] of ['d', 'e'].entries()) recent.set(key, i)
  t.equal(recent.get('b'), undefined, 'not read, so gone')
  recent.delete('e')
  t.equal(recent.get('e'), undefined)
  t.ok(recent.size <= 4)
  let worked = 0
  const twice = memoize(100, (key) => ({ key, worked: ++worked }))
  t.equal(twice('a'), twice('a'))
  t.equal(worked, 1)
})
