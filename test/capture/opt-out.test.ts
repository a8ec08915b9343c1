import t from 'tap'
import { hasOptOutCookie } from '../../src/capture/opt-out.js'

t.test('finds the opt-out among the cookies', async (t) => {
  const rows: [string | undefined, boolean, string][] = [
    ['readership-opt-out=1', true, 'the only cookie'],
    ['a=b; readership-opt-out=1; c=d', true, 'between other cookies'],
    ['a=b;readership-opt-out=1;c=d', true, 'no space after the semicolon'],
    ['a=b;\t readership-opt-out=1 ', true, 'more space than usual'],
    ['readership-opt-out=0', false, 'the value 0'],
    ['readership-opt-out=12', false, 'another value'],
    ['x-readership-opt-out=1', false, 'another name'],
    ['a=readership-opt-out=1', false, 'the value of another cookie'],
    ['a="; readership-opt-out=1"', false, 'inside a quoted value'],
    ['', false, 'an empty header'],
    [undefined, false, 'no header'],
  ]
  for (const [cookie, expected, why] of rows) t.equal(hasOptOutCookie(cookie), expected, why)
  const before = performance.now()
  hasOptOutCookie('; '.repeat(8_000) + ';'.padEnd(16_000))
  t.ok(performance.now() - before < 50, 'the longest possible header takes under 50 ms')
})
