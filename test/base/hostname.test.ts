import t from 'tap'
import { asciiHostname } from '../../src/base/hostname.js'

t.test('hostnames, and what only contains one', async (t) => {
  for (const [text, expected, why] of [
    ['Shop.Example', 'shop.example', 'case'],
    ['bücher.example', 'xn--bcher-kva.example', 'not ASCII'],
    ['a/b', undefined, 'a path'],
    ['a?b', undefined, 'a query'],
    ['a#b', undefined, 'a fragment'],
    ['a\\b', undefined, 'a path as browsers read it'],
    ['a:80', undefined, 'a port'],
    ['https://a', undefined, 'a scheme'],
    ['user@a', undefined, 'a name'],
    ['a\tb', undefined, 'a tab'],
    ['a.example\n', undefined, 'a line break'],
    ['a\r\nb', undefined, 'a line break in it'],
    ['a\0', undefined, 'NUL'],
    ['', undefined, 'nothing'],
  ] as const)
    t.equal(asciiHostname(text), expected, why)
})
