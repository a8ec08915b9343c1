import t from 'tap'
import { nearestName } from '../../src/base/nearest-name.js'

t.test('the nearest name is the one with the fewest edits, if they are few', async (t) => {
  const rows: [name: string, known: readonly string[], expected: string | undefined, why: string][] = [
    ['brwoser', ['browser', 'country'], 'browser', 'two letters changed places'],
    ['abcdef', ['abcdefgh', 'abcdefghi'], 'abcdefgh', 'a third of the name may be missing'],
    ['abcdef', ['abcdefghi'], undefined, 'half of it may not'],
    ['abcdef', ['abcd'], 'abcd', 'two may be too many'],
    ['sat', ['cat', 'sit'], 'sit', 'of two at the same distance the one with the same first letter'],
    ['7days', ['7d', '30d'], '7d', 'the name begins with it'],
    ['x'.repeat(61), ['x'.repeat(60)], undefined, 'no person writes so long a name'],
  ]
  for (const [name, known, expected, why] of rows) t.equal(nearestName(name, known), expected, why)
})

t.test('the time does not grow with the length of the known names', async (t) => {
  const known = Array.from({ length: 200 }, (_, i) => `/${i}${'a'.repeat(20_000)}`)
  const start = process.cpuUsage()
  t.equal(nearestName('b'.repeat(60), known), undefined)
  const { user } = process.cpuUsage(start)
  t.ok(user < 500_000, `${user / 1_000} ms of CPU time; comparing every letter takes 240 million steps`)
})
