import fc from 'fast-check'
import t from 'tap'
import type { TagTarget } from '../../../../src/site/proxy/inject/head-inspector.js'
import { TagInserter } from '../../../../src/site/proxy/inject/tag-inserter.js'
import { PAGES, TAG, TARGET } from './pages.js'

/** Inserts the tag into a page that comes in parts, which end at `cuts`. */
function inject(page: Buffer, cuts: readonly number[], target: TagTarget = TARGET) {
  const inserter = new TagInserter(target)
  const parts: Buffer[] = []
  let kept = 0
  let from = 0
  for (const to of [...cuts, page.length]) {
    parts.push(inserter.push(page.subarray(from, to)))
    from = to
    const sent = parts.reduce((sum, part) => sum + part.length, 0)
    kept = Math.max(kept, to - sent)
  }
  parts.push(inserter.end())
  return { output: Buffer.concat(parts), inserted: inserter.inserted, kept }
}

t.test('inserts the tag into every page, whole, in two parts and byte by byte', async (t) => {
  t.ok(PAGES.length >= 100, `${PAGES.length} pages`)
  for (const { input, output, why, target, changed } of PAGES) {
    const whole = inject(input, [], target)
    if (!whole.output.equals(output)) t.equal(String(whole.output).slice(0, 900), String(output).slice(0, 900), why)
    t.equal(whole.inserted, changed, why)
    const size = Math.min(input.length, 2_000)
    const wrong = Array.from({ length: size }, (_, cut) => cut).filter(
      (cut) => !inject(input, [cut], target).output.equals(output),
    )
    t.equal(wrong.length, 0, `${why}, cut in two, at ${wrong.slice(0, 9)}`)
    const bytes = Array.from({ length: size }, (_, cut) => cut + 1)
    const slow = inject(input, bytes, target)
    t.ok(slow.output.equals(output), `${why}, byte by byte`)
    if (input.length < 2_000) t.ok(slow.kept < 200, `${why}: ${slow.kept} bytes kept back`)
  }
})

t.test('random pages in random parts get the tag once, in the same place, or stay as they are', async (t) => {
  const piece = fc.constantFrom(
    ...['<!doctype html>', '<html>', '<head>', '</head>', '<body>', '</body>', '<html amp>', '<title>', '</title>'],
    ...[
      '<script>',
      '</script>',
      '<!--',
      '-->',
      '--!>',
      '<style>',
      '</style>',
      '<template>',
      '</template>',
      '<noscript>',
    ],
    ...['</noscript>', '<meta a="', '">', "<link b='", "'>", '<', '>', '/', '"', ' ', 'x', '<p>', '<![CDATA[', ']]>'],
    ...['<?', '?>', '</', '<!', '-', '\xef\xbb\xbf', '\xff', '\0', '=', '<svg>', '<base href=//x>', TAG],
  )
  const page = fc.array(piece, { maxLength: 25 }).map((pieces) => pieces.join(''))
  const starts = fc.constantFrom('', '<!doctype html>', '<!doctype html><html><head>')
  let placed = 0
  fc.assert(
    fc.property(starts, page, fc.array(fc.nat(400), { maxLength: 12 }), (start, rest, cuts) => {
      const input = Buffer.from(start + rest, 'latin1')
      const target = { ...TARGET, src: '/_readership/script-99999999.js?site=7' }
      const whole = inject(input, [], target)
      const sorted = [...new Set(cuts.filter((cut) => cut < input.length))].sort((a, b) => a - b)
      const cut = inject(input, sorted, target)
      if (!whole.output.equals(cut.output) || whole.inserted !== cut.inserted) return false
      const text = whole.output.toString('latin1')
      const tag = '<script defer src="/_readership/script-99999999.js?site=7"></script>'
      const [before = '', after, ...more] = text.split(tag)
      if (more.length > 0) return false
      if (after !== undefined) placed += 1
      return before + (after ?? '') === input.toString('latin1')
    }),
    { numRuns: 3_000 },
  )
  t.ok(placed > 200, `${placed} pages with the tag`)
})
