import { gzipSync } from 'node:zlib'
import t from 'tap'
import { CompressedPage } from '../../../../src/site/proxy/inject/compressed-page.js'
import type { TagTarget } from '../../../../src/site/proxy/inject/head-inspector.js'
import type { PageClient } from '../../../../src/site/proxy/inject/page.js'
import { TagInserter } from '../../../../src/site/proxy/inject/tag-inserter.js'
import { SRC, TARGET } from './pages.js'

const PAGE = Buffer.from('<!doctype html><html><head><title>x</title></head><body>hello</body></html>')

/** Faults in the injection: the client must get the origin's page. */
t.test('a fault of the injection leaves the page without the tag', async (t) => {
  let broken = false
  const target: TagTarget = {
    ...TARGET,
    get src() {
      if (broken) throw new Error('fault')
      return SRC
    },
  }
  for (const [cut, why] of [
    [PAGE.length, 'whole'],
    [40, 'in two parts'],
  ] as const) {
    broken = false
    const inserter = new TagInserter(target)
    broken = true
    const sent = [inserter.push(PAGE.subarray(0, cut)), inserter.push(PAGE.subarray(cut)), inserter.end()]
    t.same(Buffer.concat(sent), PAGE, why)
    t.equal(inserter.inserted, false)
  }
})

t.test('without memory for the decoder the page stays as it is', async (t) => {
  const coded = gzipSync(PAGE)
  const fields = ['content-encoding', 'gzip', 'content-length', String(coded.length)]
  for (const [early, why] of [
    [false, 'the head waits'],
    [true, 'the head is sent'],
  ] as const) {
    const heads: (readonly string[])[] = []
    const body: Buffer[] = []
    let ended = 0
    const client: PageClient = {
      sendHead: (sent: readonly string[]) => void heads.push(sent),
      sendBody: (part: Buffer) => body.push(part) > 0,
      end: () => void ended++,
      resumeOrigin() {},
      fail: (error: Error) => t.fail(error),
    }
    let freed = 0
    const page = new CompressedPage(
      fields,
      TARGET,
      client,
      'gzip',
      () => void freed++,
      () => {
        throw new Error('Initialization failed')
      },
    )
    if (early) page.flushHead()
    page.write(coded.subarray(0, 10))
    page.write(coded.subarray(10))
    page.end([])
    t.same(Buffer.concat(body), coded, `${why}: the origin's bytes`)
    t.same(heads, [early ? ['content-encoding', 'gzip'] : fields], why)
    t.same([ended, freed], [1, 1])
  }
})
