import t from 'tap'
import { Email } from '../../src/manage/email.js'

t.test('accepts valid addresses and normalises them', async (t) => {
  const rows: [string, string | undefined, string][] = [
    ['ann@example.com', 'ann@example.com', 'as it is'],
    [' Ann@Example.COM\t', 'ann@example.com', 'trimmed, lower case'],
    ['owner@localhost', 'owner@localhost', 'one label'],
    ["o'hara+news@a-b.example", "o'hara+news@a-b.example", 'signs that are in use'],
    ['ann@münchen.example', 'ann@xn--mnchen-3ya.example', 'a hostname of other letters'],
    // The a is Cyrillic: it looks like apple.example and is another name.
    ['ann@аpple.example', 'ann@xn--pple-43d.example', 'a homograph is seen to be one'],
    ['аnn@example.com', undefined, 'a homograph before the @'],
    ['ann@EXAMPLE.com', 'ann@example.com', 'full-width letters are the letters'],
    ['ann@example.com\r\nBcc: all@example.com', undefined, 'a second header'],
    ['ann\n@example.com', undefined, 'a line break before the @'],
    ['ann@exa\u0000mple.com', undefined, 'a control character'],
    ['ann@example.com,bob@example.com', undefined, 'two'],
    ['Ann <ann@example.com>', undefined, 'with a name'],
    ['"ann b"@example.com', undefined, 'quoted'],
    ['ann@bob@example.com', undefined, 'two @'],
    ['ann', undefined, 'no @'],
    ['@example.com', undefined, 'nobody'],
    ['ann@', undefined, 'nowhere'],
    ['.ann@example.com', undefined, 'a dot at the start'],
    ['an..n@example.com', undefined, 'two dots'],
    ['ann@example..com', undefined, 'an empty label'],
    ['ann@.example.com', undefined, 'a dot before the host'],
    ['ann@-example.com', undefined, 'a hyphen before a label'],
    ['ann@[::1]', undefined, 'an address for a host'],
    ['ann@exam ple.com', undefined, 'a space'],
    ['😀@example.com', undefined, 'an emoji before the @'],
    [`${'a'.repeat(64)}@example.com`, `${'a'.repeat(64)}@example.com`, 'as long as it may be before the @'],
    [`${'a'.repeat(65)}@example.com`, undefined, 'one too long'],
    [`a@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.${'e'.repeat(61)}`, undefined, '255 in all'],
    ['', undefined, 'nothing'],
    [`${'a'.repeat(2_000)}@example.com`, undefined, 'far too long'],
  ]
  for (const [text, email, why] of rows) t.equal(Email.safeParse(text).data, email, why)
  for (const value of [null, 1, {}, [], undefined]) t.notOk(Email.safeParse(value).success, `${value}`)
})
