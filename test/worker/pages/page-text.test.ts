import zlib, { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { decodePage } from '../../../src/worker/pages/decode-page.js'
import { readPageText } from '../../../src/worker/pages/page-text.js'

const PAGE = `<!doctype html><html lang="de"><head><title>Ein &amp; Alles</title>
<link rel="alternate canonical" href="https://a.example/x"><style>p { color: red }</style></head>
<body><h1>Hallo</h1><p>Zwei  <b>Wör</b>ter <a href="/y">hier</a><a name="x">da</a></p><h2></h2></body></html>`

t.test('facts of a page', async (t) => {
  const { digest, ...facts } = readPageText(PAGE)
  t.equal(digest.length, 22)
  t.same(facts, {
    // HalloZweiWörterhierda
    text_length: 21,
    headings: 2,
    links: 1,
    lang: 'de',
    canonical: 'https://a.example/x',
    title: 'Ein & Alles',
    first_line: 'Hallo',
  })
})

/** Markup, and the text that a reader without scripts sees: its first line and its length without white space. */
const READ: [html: string, first_line: string | null, text_length: number, why: string][] = [
  ['', null, 0, 'nothing'],
  ['plain text\nsecond', 'plain text second', 15, 'a line of the source is no line of the page'],
  ['<p>one</p><p>two</p>', 'one', 6, 'a block ends a line'],
  ['<b>on</b>e <i>two</i><br>three', 'one two', 11, 'an inline element does not'],
  ['<script>let a = "</p>"</script>text', 'text', 4, 'a script'],
  ['<SCRIPT >x</scripty></script\n>text', 'text', 4, 'an end tag with a longer name is none'],
  ['<style>a{}</style><noscript>on</noscript><template>t</template>x', 'x', 1, 'hidden elements'],
  ['<svg><title>icon</title></svg><svg/>x', 'x', 1, 'pictures; one without content'],
  ['<!-- <p>no</p> -->a<!-->b<!--->c<!-- x --!>d', 'abcd', 4, 'comments'],
  ['<!doctype html><?php echo 1 ?></ x>a', 'a', 1, 'declarations'],
  ['a < b & c', 'a < b & c', 5, 'no tag'],
  [
    '&lt;b&gt;&nbsp;&#65;&#x42;&#xD800;&#99999999;',
    '<b> AB\ud800&#99999999;',
    17,
    'references; the store replaces half of a pair',
  ],
  ['<p title="a > b">x</p>', 'x', 1, 'a quote in a tag'],
  ['x<script>never ends <p>y</p>', 'x', 1, 'a script without an end takes the rest'],
  ['x<!-- never ends <p>y</p>', 'x', 1, 'so does a comment'],
  ['x<a href="never ends><p>y</p>', 'x', 1, 'and a quote'],
  ['<title>no end <p>y</p>', null, 0, 'and a title'],
  ['<p>\u0000\u202ex</p>', 'x', 3, 'control characters are not kept'],
]
t.test('the text of a page', async (t) => {
  for (const [html, first_line, text_length, why] of READ) {
    const { first_line: found, text_length: length } = readPageText(html)
    t.same([found, length], [first_line, text_length], why)
  }
  t.equal(readPageText(`<title>${'&amp;'.repeat(500)}</title>`).title?.length, 200, 'a kept text is bounded')
})

const SAME: [html: string, isSame: boolean, why: string][] = [
  [PAGE.replace('<p>', '<p class="x" nonce="r4nd0m">'), true, 'attributes'],
  [PAGE.replace('</body>', '<script nonce="abc">go(123)</script></body>'), true, 'scripts and nonces'],
  [PAGE.replaceAll('\n', '  \n\t'), true, 'white space'],
  [PAGE.replace('<p>', '<div><section>').replace('</p>', '</section></div>'), true, 'other elements'],
  [PAGE.replace('<h1>', '<input type="hidden" name="csrf" value="77"><h1>'), true, 'a token in a form'],
  [PAGE.replace('Zwei', 'Drei'), false, 'a word'],
  [PAGE.replace('Ein', 'Kein'), false, 'the title'],
  [PAGE.replace('Hallo', ''), false, 'a heading less'],
]
t.test('an edition is its text', async (t) => {
  const { digest } = readPageText(PAGE)
  for (const [html, isSame, why] of SAME) t.equal(readPageText(html).digest === digest, isSame, why)
})

/** Each of these takes a browser's parser back to where it was, again and again. */
const HOSTILE: [part: string, why: string][] = [
  ['<', 'openings'],
  ['<a ', 'tags without an end'],
  ['<a href="', 'quotes without an end'],
  ['<!--', 'comments without an end'],
  ['<!-->', 'short comments'],
  ['<script>', 'scripts without an end'],
  ['<svg>', 'pictures without an end'],
  ['<title>', 'titles'],
  ['</', 'end tags without a name'],
  ['&', 'references without an end'],
  ['&#x', 'numbers without an end'],
  ['<a b c d=e f/g ', 'attributes'],
  [' ', 'white space'],
  ['\u00a0\n', 'lines'],
  ['<meta charset=', 'charsets'],
]
t.test('hostile pages take linear time', async (t) => {
  const timeOf = (part: string, bytes: number) => {
    const html = part.repeat(Math.ceil(bytes / part.length))
    const start = performance.now()
    readPageText(html)
    return performance.now() - start
  }
  // A quadratic reader takes minutes for these, and the machine may be busy.
  for (const [part, why] of HOSTILE) t.ok(timeOf(part, 2 << 20) < 3_000, why)
})

const html = 'text/html; charset=utf-8'
/** A frame of one raw block of two bytes (RFC 8878 3.1.1). */
const ZSTD = Buffer.from('28b52ffd2002110000c3a4', 'hex')
const DECODED: [coding: string, type: string, body: Uint8Array, expected: string | undefined, why: string][] = [
  ['', html, Buffer.from('ä'), 'ä', 'plain'],
  ['identity', 'text/html', Buffer.from('ä'), 'ä', 'UTF-8 is the default'],
  ['gzip', html, gzipSync('ä'), 'ä', 'gzip'],
  ['br', html, brotliCompressSync('ä'), 'ä', 'Brotli'],
  ['deflate', html, deflateSync('ä'), 'ä', 'deflate'],
  ['deflate', html, deflateRawSync('ä'), 'ä', 'deflate without a header'],
  ['', 'text/html; charset=iso-8859-1', Buffer.from('ä', 'latin1'), 'ä', 'the charset of the response'],
  ['', 'text/html', Buffer.from('<meta charset="latin1">ä', 'latin1'), '<meta charset="latin1">ä', 'of the page'],
  ['', 'text/html; charset=nonsense', Buffer.from('ä'), 'ä', 'a charset that does not exist'],
  ['zstd', html, ZSTD, 'zstdDecompress' in zlib ? 'ä' : undefined, 'Zstandard, from Node 22.15 on'],
  ['zstd', html, ZSTD.subarray(0, 8), undefined, 'a part in Zstandard'],
  ['compress', html, Buffer.from('ä'), undefined, 'a coding that is not known'],
  ['several', html, gzipSync('ä'), undefined, 'several'],
  ['gzip', html, Buffer.from('no'), undefined, 'damage'],
  ['gzip', html, gzipSync('ä'.repeat(9)).subarray(0, 20), undefined, 'a part'],
  ['gzip', html, gzipSync(Buffer.alloc(3 << 20)), undefined, 'a bomb'],
]
t.test('bodies are decoded', async (t) => {
  for (const [coding, content_type, body, expected, why] of DECODED)
    t.equal(await decodePage({ coding, content_type }, body), expected, why)
})
