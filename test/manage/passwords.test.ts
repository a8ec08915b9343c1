import t from 'tap'
import { NewPassword, refuseAddressAsPassword } from '../../src/manage/accounts/password-rules.js'
import { createPasswords } from '../../src/manage/passwords.js'

const PHC = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/

t.test('passwords are hashed by argon2id with the parameters of OWASP', async (t) => {
  const { hash, verify, isStale } = createPasswords()
  const kept = await hash('slack water at noon')
  t.match(kept, PHC)
  t.not(await hash('slack water at noon'), kept, 'another salt each time')
  const rows: [string | null, string, boolean, string][] = [
    [kept, 'slack water at noon', true, 'the password'],
    [kept, 'slack water at noon ', false, 'another'],
    [kept, '', false, 'none'],
    [null, 'slack water at noon', false, 'of an account without one'],
    [null, '', false, 'none of none'],
  ]
  for (const [of, password, fits, why] of rows) t.equal(await verify(of, password), fits, why)
  // An e with a combining accent, and the composed letter.
  t.equal(
    await verify(await hash('cafe\u0301 cafe\u0301'), 'caf\u00e9 caf\u00e9'),
    true,
    'however a keyboard composes it',
  )
  t.equal(isStale(kept), false)
  t.equal(isStale(kept.replace('m=19456', 'm=4096')), true, 'of other parameters')
})

t.test('an unknown account costs the same hash', async (t) => {
  const asked: string[] = []
  const { verify } = createPasswords({
    hash: async () => '',
    verify: async (kept) => {
      asked.push(String(kept))
      return true
    },
  })
  t.equal(await verify(null, 'slack water at noon'), false, 'whatever the hash says')
  t.equal(asked.length, 1)
  t.match(asked[0], PHC, 'with the same parameters')
})

t.test('two hashes run at once, the others in a bounded queue', async (t) => {
  let running = 0
  let most = 0
  const open: (() => void)[] = []
  const { hash } = createPasswords({
    hash: async () => {
      running += 1
      most = Math.max(most, running)
      await new Promise<void>((resolve) => open.push(resolve))
      running -= 1
      return 'kept'
    },
    verify: async () => false,
  })
  // 2 run and 60 wait; the 63rd is rejected.
  const all = Array.from({ length: 62 }, () => hash('slack water at noon'))
  await t.rejects(hash('slack water at noon'), { code: 'rate_limited' })
  t.equal(open.length, 2)
  for (let done = 0; done < 62; done++) {
    open.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.same(new Set(await Promise.all(all)), new Set(['kept']))
  t.equal(most, 2)
  const after = hash('slack water at noon')
  open.shift()?.()
  t.equal(await after, 'kept', 'and then there is room again')
})

t.test('rejects short, common and obvious passwords', async (t) => {
  const rows: [unknown, boolean, string][] = [
    ['slack water at noon', true, 'words'],
    ['ten chars!', true, 'the shortest'],
    ['nine char', false, 'one too short'],
    ['x7Q'.repeat(66), true, '198 characters'],
    ['abc'.repeat(67), false, 'one too long'],
    ['пароль-на-память', true, 'other letters'],
    ['🌊🌊🌊⚓⚓⚓🐚🐚🐚🐚', true, 'emoji'],
    ['🌊🌊🌊⚓⚓🐚🐚', false, 'seven of them: each is one character (NIST SP 800-63B), whatever it takes'],
    ['1234567890', false, 'a row of digits'],
    ['9876543210', false, 'the other way'],
    ['aaaaaaaaaaaa', false, 'one letter'],
    ['ababababab', false, 'two letters'],
    ['password123', false, 'the most common, and digits'],
    ['Password2026!', false, 'the same, as rules of composition make it'],
    ['qwertyuiop', false, 'a row of keys'],
    ['1q2w3e4r5t', false, 'two rows of keys'],
    ['iloveyou!!!!', false, 'a common phrase'],
    ['readership2026', false, 'our own name'],
    [1234567890, false, 'a number'],
    [null, false, 'nothing'],
  ]
  for (const [password, taken, why] of rows) t.equal(NewPassword.safeParse(password).success, taken, why)
  t.throws(() => refuseAddressAsPassword('Ann.Longname', 'ann.longname@example.com'), {
    code: 'validation_error',
    field: 'password',
  })
  t.throws(() => refuseAddressAsPassword('ann@example.com', 'ann@example.com'), { code: 'validation_error' })
  t.doesNotThrow(() => refuseAddressAsPassword('slack water at noon', 'ann@example.com'))
})
