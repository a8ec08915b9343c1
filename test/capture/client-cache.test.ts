import t from 'tap'
import { createClientCache } from '../../src/capture/client-cache.js'

/** The bytes of a client with these texts, at an offset that is not a multiple of four. */
function bytesOf(texts: readonly string[]) {
  const offset = 3
  const lengthsEnd = offset + texts.length * 4
  const text = Buffer.from(texts.join(''), 'latin1')
  const view = new DataView(new ArrayBuffer(lengthsEnd + text.length + 5))
  for (const [n, { length }] of texts.entries()) view.setInt32(offset + n * 4, length, true)
  new Uint8Array(view.buffer).set(text, lengthsEnd)
  return { view, lengths: offset, lengthsEnd, texts: lengthsEnd, textsEnd: lengthsEnd + text.length }
}

const CLIENTS = [
  ['', ''],
  ['a', ''],
  ['', 'a'],
  ['ab', 'cd'],
  ['a', 'bcd'],
  ['ab', 'ce'],
  ['Mozilla/5.0 (X11; Linux x86_64)', 'text/html'],
  ['Mozilla/5.0 (X11; Linux x86_65)', 'text/html'],
  ['Mozilla/5.0 (X11; Linux x86_64)', 'text/htmk'],
] as const

for (const [name, hash] of [
  ['its own hash', undefined],
  ['one hash for all', () => 0],
] as const)
  t.test(`a client is never taken for another, with ${name}`, async (t) => {
    const find = createClientCache(hash)
    for (let round = 0; round < 3; round++)
      for (const texts of CLIENTS) {
        const read = () => ({ user_agent: texts[0], headers: { accept: texts[1] } })
        t.strictSame(find(bytesOf(texts), read), read(), texts.join('|'))
        t.equal(find(bytesOf(texts), read), find(bytesOf(texts), read), 'the same object for the same client')
      }
  })

t.test('a client of over 1,024 bytes is read each time', async (t) => {
  const find = createClientCache()
  const long = ['a'.repeat(1_025), '']
  const read = () => ({ user_agent: long[0] ?? '', headers: undefined })
  t.not(find(bytesOf(long), read), find(bytesOf(long), read))
})
