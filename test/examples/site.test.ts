import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { WebSocket } from 'ws'
import { toHtml } from '../../examples/site/markdown.js'
import { startSite } from '../../examples/site/server.js'
import { extremes, STATIONS } from '../../examples/site/tides.js'

const site = await startSite({ port: 0, interval: 20 })
t.teardown(() => site.close())

interface Answer {
  status: number | undefined
  headers: IncomingMessage['headers']
  body: Buffer
}
/** One request byte for byte as given: nothing is decoded, followed or added. */
async function ask(method: string, path: string, headers: Record<string, string> = {}, body?: string): Promise<Answer> {
  const res = await new Promise<IncomingMessage>((done, fail) => {
    request(site.url, { method, path, headers }, done).on('error', fail).end(body)
  })
  const chunks: Buffer[] = []
  for await (const chunk of res) chunks.push(chunk)
  return { status: res.statusCode, headers: res.headers, body: Buffer.concat(chunks) }
}
const text = async (path: string) => (await ask('GET', path)).body.toString()

t.test('every internal link of every page leads somewhere, of the type it should have', async (t) => {
  const TYPES: [RegExp, string][] = [
    [/\.css$/, 'text/css; charset=utf-8'],
    [/\.js$/, 'text/javascript; charset=utf-8'],
    [/\.svg$/, 'image/svg+xml'],
    [/\.jpg$/, 'image/jpeg'],
    [/\.webp$/, 'image/webp'],
    [/\.wav$/, 'audio/wav'],
    [/\.pdf$/, 'application/pdf'],
    [/\.md$/, 'text/markdown; charset=utf-8'],
    [/^\/feed\.xml$/, 'application/rss+xml; charset=utf-8'],
    [/^\/api\//, 'application/json; charset=utf-8'],
  ]
  const seen = new Set<string>()
  const queue = ['/']
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    if (seen.has(path)) continue
    seen.add(path)
    const { status, headers, body } = await ask('GET', path)
    const type = TYPES.find(([pattern]) => pattern.test(path.split('?')[0] ?? ''))?.[1] ?? 'text/html; charset=utf-8'
    t.same([status, headers['content-type'], body.length > 0], [200, type, true], path)
    if (!type.startsWith('text/html')) continue
    const html = body.toString()
    // Its script writes the heading.
    const isShell = html.includes('<main id="harbours"></main>')
    t.equal(isShell, path === '/harbours', `${path} has its text${isShell ? ' from a script' : ''}`)
    if (isShell) continue
    t.match(
      html,
      /^<!doctype html>[\s\S]*<title>[^<]+<\/title>[\s\S]*<h1>[^<]+<\/h1>[\s\S]*<\/html>\n$/,
      `${path} whole`,
    )
    for (const [, link = ''] of html.matchAll(/(?:href|src|action)="(\/[^"#]*)"/g))
      queue.push(link.replaceAll('&#38;', '&'))
  }
  const unlinked = site.pages.filter((page) => !seen.has(page))
  t.same(unlinked, [], 'and from the front page every page of the sitemap can be reached')
  t.ok(site.pages.length >= 20, `${site.pages.length} pages`)
})

t.test('what is written for machines is true', async (t) => {
  const map = await text('/sitemap.xml')
  const listed = [...map.matchAll(/<loc>http:\/\/localhost:8080([^<]*)<\/loc>/g)].map((match) => match[1])
  t.same(listed, site.pages, 'the sitemap lists the pages')
  for (const path of listed) t.equal((await ask('HEAD', path ?? '')).status, 200, `sitemap: ${path}`)

  const articles = readdirSync('examples/site/content/articles').length
  const feed = await text('/feed.xml')
  t.equal(feed.match(/<item>/g)?.length, articles, 'one item of the feed for each file of an article')

  const guide = await text('/llms.txt')
  t.match(guide, /^# Slack Water\n\n> .+\n/, 'llms.txt begins with a title and a summary')
  const twins = [...guide.matchAll(/\]\((\/[^)]+\.md)\)/g)].map((match) => match[1] ?? '')
  t.ok(twins.length >= articles, 'it links the twins')
  for (const twin of twins) {
    const { headers, body } = await ask('GET', twin)
    const page = await text(twin.slice(0, -3))
    const title = /^# (.+)\n/.exec(body.toString())?.[1] ?? 'none'
    t.equal(headers['content-type'], 'text/markdown; charset=utf-8', twin)
    t.ok(page.includes(`<h1>${title}</h1>`), `${twin} has the title of its page`)
  }

  const robots = await text('/robots.txt')
  t.match(robots, /^User-agent: CCBot\nUser-agent: Bytespider\nDisallow: \/$/m, 'robots.txt shuts two out')
  t.match(robots, /^Sitemap: http:\/\/localhost:8080\/sitemap\.xml$/m, 'and says where the sitemap is')
})

t.test('requests', async (t) => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const { etag = '', 'last-modified': modified = '' } = (await ask('GET', '/about')).headers
  const wav = (await ask('HEAD', '/files/foghorn.wav')).headers
  const CASES: [string, string, Record<string, string>, string | undefined, number, Record<string, string>, string][] =
    [
      ['GET', '/index.html', {}, undefined, 301, { location: '/' }, 'an old name moves'],
      ['GET', '/journal/slack-water', {}, undefined, 301, { location: '/articles/slack-water' }, 'an old folder moves'],
      ['GET', '/articles/?q=1', {}, undefined, 301, { location: '/articles?q=1' }, 'one address a page'],
      ['GET', '/nowhere', {}, undefined, 404, { 'content-type': 'text/html; charset=utf-8' }, 'nothing there'],
      ['GET', '/constructor', {}, undefined, 404, {}, 'no name of the language is a page'],
      ['GET', '//', {}, undefined, 404, {}, 'an odd path is not the front page'],
      ['GET', '/broken', {}, undefined, 500, { 'cache-control': 'no-store' }, 'a fault has a page'],
      ['DELETE', '/about', {}, undefined, 405, { allow: 'GET, HEAD, OPTIONS' }, 'nothing to delete'],
      ['OPTIONS', '/subscribe', {}, undefined, 204, { allow: 'GET, HEAD, OPTIONS, POST' }, 'what the form takes'],
      ['POST', '/subscribe', form, 'email=a%40b.example', 303, { location: '/thank-you' }, 'the form'],
      ['POST', '/subscribe', form, 'email=nobody', 422, {}, 'not an address'],
      ['POST', '/subscribe', form, `email=${'a'.repeat(20_000)}`, 413, {}, 'not a form'],
      ['GET', '/about', { 'if-none-match': etag }, undefined, 304, { etag }, 'known by its tag'],
      ['GET', '/about', { 'if-none-match': `"x", W/${etag}` }, undefined, 304, {}, 'weak, in a list'],
      [
        'GET',
        '/about',
        { 'if-none-match': '"x"', 'if-modified-since': modified },
        undefined,
        200,
        {},
        'the tag decides',
      ],
      ['GET', '/about', { 'if-modified-since': modified }, undefined, 304, {}, 'known by its date'],
      ['GET', '/about', { 'if-modified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' }, undefined, 200, {}, 'newer'],
      [
        'GET',
        '/api/tides?station=atlantis',
        {},
        undefined,
        404,
        { 'content-type': 'application/json; charset=utf-8' },
        '',
      ],
      ['GET', '/api/tides?hours=9999', {}, undefined, 400, {}, 'hours have a bound'],
      [
        'GET',
        '/files/foghorn.wav',
        { range: 'bytes=0-3' },
        undefined,
        206,
        { 'content-range': 'bytes 0-3/24044' },
        'RIFF',
      ],
      [
        'GET',
        '/files/foghorn.wav',
        { range: 'bytes=-4' },
        undefined,
        206,
        { 'content-range': 'bytes 24040-24043/24044' },
        'the end',
      ],
      [
        'GET',
        '/files/foghorn.wav',
        { range: 'bytes=24044-' },
        undefined,
        416,
        { 'content-range': 'bytes */24044' },
        'past it',
      ],
      [
        'GET',
        '/files/foghorn.wav',
        { range: 'bytes=0-3', 'if-range': '"old"' },
        undefined,
        200,
        { 'content-length': '24044' },
        'changed since',
      ],
      [
        'GET',
        '/files/foghorn.wav',
        { range: 'bytes=0-3', 'if-range': wav.etag ?? '' },
        undefined,
        206,
        {},
        'not changed',
      ],
      ['GET', '/files/foghorn.wav', { range: 'bytes=0-1,3-4' }, undefined, 200, {}, 'several ranges: the whole'],
    ]
  for (const [method, path, headers, body, status, expected, why] of CASES) {
    const answer = await ask(method, path, headers, body)
    t.same([answer.status, { ...answer.headers, ...expected }], [status, answer.headers], `${method} ${path} ${why}`)
  }
  t.equal((await ask('GET', '/files/foghorn.wav', { range: 'bytes=0-3' })).body.toString(), 'RIFF', 'the right bytes')
})

t.test('HEAD says what GET would, gzip is the same text', async (t) => {
  const plain = await ask('GET', '/articles/two-bulges')
  const head = await ask('HEAD', '/articles/two-bulges')
  t.equal(head.body.length, 0)
  t.equal(head.headers['content-length'], String(plain.body.length))
  t.equal(head.headers.etag, plain.headers.etag)
  const packed = await ask('GET', '/articles/two-bulges', { 'accept-encoding': 'br, gzip;q=0.8' })
  t.equal(packed.headers['content-encoding'], 'gzip')
  t.equal(packed.headers.vary, 'Accept-Encoding')
  t.not(packed.headers.etag, plain.headers.etag, 'other bytes, another tag')
  t.same(gunzipSync(packed.body), plain.body)
  const refused = await ask('GET', '/articles/two-bulges', { 'accept-encoding': 'gzip;q=0' })
  t.notOk(refused.headers['content-encoding'], 'weight 0 is no')
})

t.test('the gauge streams', async (t) => {
  const res = await fetch(`${site.url}/api/gauge/stream`)
  t.equal(res.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  let got = ''
  for await (const chunk of res.body ?? []) {
    got += Buffer.from(chunk).toString()
    if ((got.match(/\n\n/g)?.length ?? 0) >= 3) break
  }
  const readings = [...got.matchAll(/^id: (\d+)\nevent: reading\ndata: (.+)$/gm)]
  t.same(
    readings.slice(0, 3).map((match) => match[1]),
    ['1', '2', '3'],
  )
  t.match(JSON.parse(readings[0]?.[2] ?? ''), { height: Number, trend: /rising|falling/, at: /Z$/ })
})

t.test('the radio speaks', async (t) => {
  const socket = new WebSocket(`${site.url.replace('http', 'ws')}/ws/radio`)
  const heard: string[] = []
  const done = new Promise<void>((enough) => {
    socket.on('message', (data) => {
      heard.push(data.toString())
      if (heard.length === 1) socket.send('what is the tide?')
      if (heard.length === 3) enough()
    })
  })
  await done
  socket.close()
  t.same(heard.slice(0, 2), ['Harbour: channel 12 is open.', 'what is the tide?'])
  t.match(heard[2], /^Harbour: \d\.\d\d metres/)

  const refused = new WebSocket(`${site.url.replace('http', 'ws')}/ws/other`)
  const response = await new Promise<IncomingMessage>((done) => {
    refused.once('unexpected-response', (_request, answer) => done(answer))
  })
  t.equal(response.statusCode, 404)
  response.destroy()
})

t.test('the tides are tides', async (t) => {
  const from = Date.parse('2026-11-21T00:00:00Z')
  for (const [id, station] of STATIONS) {
    const found = extremes(station, from, from + 29.53 * 86_400_000)
    // A lunar month has 57 high waters of 12.42 hours and as many lows.
    t.ok(Math.abs(found.length - 114) <= 2, `${id}: ${found.length} turns in a lunar month`)
    t.ok(
      found.every(({ kind }, i) => i === 0 || kind !== found[i - 1]?.kind),
      `${id}: high and low take turns`,
    )
    const range = (kind: string) => found.filter((one) => one.kind === kind).map((one) => one.height)
    t.ok(Math.min(...range('high')) > Math.max(...range('low')), `${id}: every high is above every low`)
  }
})

t.test('the Markdown of the authors', async (t) => {
  const CASES: [string, string, string][] = [
    ['a & b < c', '<p>a &#38; b &#60; c</p>', 'text is text'],
    ['## A _b_', '<h2>A <em>b</em></h2>', 'heading'],
    ['- a\n- b\n  c', '<ul><li>a</li><li>b\n  c</li></ul>', 'list with a long item'],
    ['1. a\n2. **b**', '<ol><li>a</li><li><strong>b</strong></li></ol>', 'numbered'],
    ['> a\n> b', '<blockquote>a\nb</blockquote>', 'quote'],
    ['[a](/b_c_d)', '<p><a href="/b_c_d">a</a></p>', 'no emphasis within an address'],
    ['![a](/b.jpg)', '<p><img src="/b.jpg" alt="a" loading="lazy"></p>', 'image'],
    [
      '| a | b |\n| - | - |\n| c | d |',
      '<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>c</td><td>d</td></tr></tbody></table>',
      'table',
    ],
    ['[x](/"onclick=)', '<p><a href="/&#34;onclick=">x</a></p>', 'an address cannot leave its quotes'],
  ]
  for (const [input, expected, why] of CASES) t.equal(toHtml(input), expected, why)
})

t.test('starting and stopping', async (t) => {
  const { port } = new URL(site.url)
  await t.rejects(startSite({ port: Number(port) }), { code: 'EADDRINUSE' }, 'a taken port is said')
  const other = await startSite({ port: 0, base: 'https://slackwater.example' })
  t.match(await (await fetch(`${other.url}/robots.txt`)).text(), 'Sitemap: https://slackwater.example/sitemap.xml')
  const stream = await fetch(`${other.url}/api/gauge/stream`)
  await other.close()
  await t.rejects(stream.text(), 'an endless answer ends with the site')
  for (const file of ['img/skerry.jpg', 'img/skerry.webp']) {
    t.ok(
      existsSync(`examples/site/public/${file}`) && readFileSync(`examples/site/public/${file}`).length < 50_000,
      file,
    )
  }
})
