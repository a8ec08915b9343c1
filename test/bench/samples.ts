import { gunzipSync, gzipSync } from 'node:zlib'
import { decodePage } from '../../src/worker/pages/decode-page.js'
import { readPageText } from '../../src/worker/pages/page-text.js'
import { median, printAims } from './aims.js'

const CARD =
  '<div class="card"><h2>Title &amp; more</h2><p>Some text about <a href="/x">a thing</a> and <em>else</em>, for a while.</p></div>\n'
const HEAD = '<!doctype html><html lang="en"><head><title>A page</title></head><body>'
const KILOBYTES = [10, 100, 500]
const WARM_UP = 30
const ROUNDS = 15
/** The bound of `src/site/proxy/page-sampler.ts` for bodies without a coding. */
const BOUND_KB_PER_SECOND = 128

/**
 * Milliseconds of the worker's CPU per sample of a page, plain, beside the decompression of the same page by zlib, and the
 * share of a core at the most samples that the proxy takes. Medians of pairs.
 */
export async function run(): Promise<void> {
  const aims = []
  let most = 0
  for (const size of KILOBYTES) {
    const page = Buffer.from(HEAD + CARD.repeat((size * 1_024) / CARD.length))
    const packed = gzipSync(page)
    const read = async () => {
      readPageText((await decodePage({ coding: '', content_type: 'text/html' }, page)) ?? '')
    }
    for (let n = 0; n < WARM_UP; n++) await read()
    const pairs: { ours: number; peer: number }[] = []
    for (let n = 0; n < ROUNDS; n++)
      pairs.push({ ours: await cpuOf(read), peer: await cpuOf(async () => gunzipSync(packed)) })
    const ours = median(pairs.map((pair) => pair.ours))
    aims.push({
      what: `a sample of ${size} KB, ms; peer: gunzip`,
      ours,
      peers: [median(pairs.map(({ peer }) => peer))],
    })
    // The proxy takes two a second at most.
    most = Math.max(most, (ours / 10) * Math.min(2, BOUND_KB_PER_SECOND / size))
  }
  printAims([...aims, { what: 'percent of a core at most', ours: most, peers: [], aim: 1 }])
}

async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const from = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(from)
  return (user + system) / 1_000
}
