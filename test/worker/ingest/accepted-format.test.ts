import t from 'tap'
import { acceptedFormat } from '../../../src/worker/ingest/accepted-format.js'

/** `[Accept, format, why]`. Headers of agents as their operators or their source code state them. */
const CASES: readonly (readonly [string | undefined, string | null, string])[] = [
  [undefined, null, 'no header'],
  ['', null, 'an empty header'],
  ['*/*', 'any', 'curl, and many crawlers'],
  [
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
    'html',
    'Firefox: four types of weight 1, HTML first',
  ],
  [
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
    'html',
    'Chrome, and agents that drive it',
  ],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'html', 'Safari; Googlebot; ChatGPT-User'],
  ['text/markdown, text/html, */*', 'markdown', 'Claude Code'],
  ['text/markdown;q=1.0, text/x-markdown;q=0.9, text/plain;q=0.8, text/html;q=0.7, */*;q=0.1', 'markdown', 'OpenCode'],
  ['text/html, text/markdown', 'markdown', 'Markdown wins a tie'],
  ['text/html, text/markdown;q=0.9', 'html', 'but not against a higher weight'],
  ['text/markdown;q=0.9, text/html;q=0.8', 'markdown', 'the highest weight of those there are'],
  ['text/x-markdown', 'markdown', 'the older name'],
  ['application/json, text/plain, */*', 'json', 'axios'],
  ['application/vnd.github+json', 'json', 'a JSON of its own'],
  ['application/ld+json;profile="a,b;q=0"', 'json', 'a quoted value has no members and no weight'],
  ['text/plain', 'text', 'plain text'],
  ['application/xhtml+xml', 'html', 'XHTML is HTML'],
  ['application/rss+xml, application/atom+xml, */*;q=0.5', 'xml', 'a feed reader'],
  ['image/avif,image/webp,*/*;q=0.8', 'image', 'an image of a page'],
  ['image/*', 'image', 'any image'],
  ['text/*', 'any', 'any text, which may be HTML'],
  ['text/*, application/json', 'json', 'a type is more specific than a kind'],
  ['*/*, text/html;q=0.9', 'any', 'everything is preferred to HTML'],
  ['application/pdf', 'other', 'a type without a word'],
  ['audio/*', 'other', 'a kind without a word'],
  ['TEXT/Markdown; Charset=UTF-8; Q=0.5, text/html;q=0.4', 'markdown', 'case does not count'],
  ['text/markdown ; q = 0.5 , text/html ; q=0.4', 'markdown', 'spaces do not count'],
  ['text/markdown;q=0, */*', 'any', 'q=0 refuses a type'],
  ['text/html;q=0.000', null, 'nothing is accepted'],
  ['*/*;q=0', null, 'nothing is accepted'],
  ['text/markdown;q=2, text/html', 'html', 'a weight above 1 is malformed'],
  ['text/markdown;q=0.1234, text/html;q=0.1', 'html', 'so is one of four digits'],
  ['text/markdown;q=, text/html;q=0.1', 'html', 'and an empty one'],
  ['*/html', null, 'no media range'],
  ['*', null, 'no media range either, which some old Java clients send'],
  ['*, text/html;q=.2, */*; q=.2', null, 'old Java: a weight begins with a digit'],
  ['text', null, 'no media range'],
  [', ,text/html,,', 'html', 'empty members'],
  ['html/../../markdown', null, 'not a media range'],
  ['text/html;p="a', 'html', 'a quote that never ends'],
  ['toString/constructor', 'other', 'names of objects are words as any other'],
]

t.test('the format that Accept asks for', async (t) => {
  for (const [accept, format, why] of CASES) t.equal(acceptedFormat(accept), format, `${accept}: ${why}`)
})

t.test('hostile headers of 8 KB cost little', async (t) => {
  const hostile = ['"\\', ',', ';', '"', 'text/html;q=', '*/*,', ' ', '\\"', 'a/', 'text/markdown;q=0.1,', 'q=0;']
  const began = performance.now()
  for (const part of hostile)
    for (let n = 0; n < 20; n++) acceptedFormat(`${n}${part.repeat(8_192 / part.length)}`.slice(0, 8_192))
  const took = performance.now() - began
  t.ok(took < hostile.length * 20, `220 headers in ${took.toFixed(1)} ms`)
})
