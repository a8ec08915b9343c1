import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { splitPayloads } from '../../src/api/track/split-payloads.js'

const split = (text: string) => [...splitPayloads(text)]

const cases: [text: string, payloads: (string | undefined)[], why: string][] = [
  ['[]', [], 'nothing'],
  [' [ ] ', [], 'blanks'],
  ['[1]', ['1'], 'one'],
  ['[{"s":1},{"s":2}]', ['{"s":1}', '{"s":2}'], 'two'],
  ['\ufeff[1, 2]', ['1', '2'], 'after a byte order mark'],
  ['{"events":[1,2],"more":[3]}', ['1', '2'], 'in an object'],
  ['{ "events" : [ ] }', [], 'an object with nothing'],
  ['[{"u":"],}\\"[,"},2]', ['{"u":"],}\\"[,"}', '2'], 'brackets, commas and quotes in a text'],
  ['[[1,[2]],{"a":{"b":[3]}}]', ['[1,[2]]', '{"a":{"b":[3]}}'], 'nested'],
  ['[1,,2]', ['1', '', '2'], 'a payload is missing'],
  ['[1,]', ['1', ''], 'the last one is missing'],
  ['[{"s":1,},{"s":2}]', ['{"s":1,}', '{"s":2}'], 'one is not JSON'],
  ['[{"s":1},{"s":2', ['{"s":1}', '{"s":2'], 'the end is missing'],
  ['[{"s":1},"open,{"s":2}]', ['{"s":1}', '"open,{"s":2}]'], 'a text that does not end takes what follows it'],
  ['{"s":1}', [undefined], 'no batch'],
  ['', [undefined], 'nothing at all'],
  ['"x"', [undefined], 'a text'],
]
t.test('a batch is split into its payloads', async (t) => {
  for (const [text, payloads, why] of cases) t.strictSame(split(text), payloads, why)
})

t.test('the parts of any array are its values, and no text takes long', async (t) => {
  const value = fc.json()
  fc.assert(
    fc.property(fc.array(value, { maxLength: 8 }), fc.boolean(), (values, inObject) => {
      const text = inObject ? `{"events":[${values.join(' ,\n')}]}` : `[${values.join(',')}]`
      const found = split(text).map((part) => JSON.parse(part ?? ''))
      return isDeepStrictEqual(
        found,
        values.map((one) => JSON.parse(one)),
      )
    }),
  )
  t.pass('every array')
  fc.assert(fc.property(fc.string(), (text) => split(text).length <= text.length + 1))
  for (const part of ['[', '{', '"', ',', '\\', '[,', '{"events":[']) split(`[${part.repeat(1_000_000)}`)
})
