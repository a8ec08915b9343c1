import t from 'tap'
import { hasOptOutCookie } from '../../src/capture/observation.js'

t.test('the opt-out among the cookies', async (t) => {
  const rows: [string | undefined, boolean, string][] = [
    ['readership-opt-out=1', true, 'alone'],
    ['a=b; readership-opt-out=1; c=d', true, 'among others'],
    ['a=b;readership-opt-out=1;c=d', true, 'close together'],
    ['a=b;\t readership-opt-out=1 ', true, 'far apart'],
    ['readership-opt-out=0', false, 'no'],
    ['readership-opt-out=12', false, 'another value'],
    ['x-readership-opt-out=1', false, 'another name'],
    ['a=readership-opt-out=1', false, 'a value of another'],
    ['a="; readership-opt-out=1"', false, 'not as a browser writes it'],
    ['', false, 'none'],
    [undefined, false, 'no header'],
  ]
  for (const [cookie, expected, why] of rows) t.equal(hasOptOutCookie(cookie), expected, why)
  const before = performance.now()
  hasOptOutCookie('; '.repeat(8_000) + ';'.padEnd(16_000))
  t.ok(performance.now() - before < 50, 'a header as long as there may be')
})
