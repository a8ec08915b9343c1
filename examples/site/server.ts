import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { findSiteFolder, readTexts, type Text } from './content.js'
import { createRadio, streamGauge } from './gauge-and-radio.js'
import { errorPage, searchPage, subscribePage } from './layout.js'
import { type Resource, resource, send } from './resource.js'
import { HTML, notices, readResources } from './resources.js'
import { extremes, STATIONS } from './tides.js'

/** Redirects from addresses of an older site, and from addresses that people guess. */
const MOVED: ReadonlyMap<string, string> = new Map([
  ['/index.html', '/'],
  ['/journal', '/articles'],
  ['/feed', '/feed.xml'],
  ['/tide-tables', '/tides'],
  ['/live', '/gauge'],
  ['/favicon.ico', '/img/mark.svg'],
])

interface Site {
  /** `http://127.0.0.1:PORT`, without a trailing slash. */
  url: string
  /** Paths of the pages in the sitemap. */
  pages: readonly string[]
  close(): Promise<void>
}

interface SiteOptions {
  port: number
  host?: string
  /** The public address, for sitemap, feed and robots.txt. */
  base?: string
  now?: () => number
  /** Milliseconds between readings of the gauge. */
  interval?: number
}

/** Starts the sample site, a small ordinary website. Rejects if the port is taken. */
export async function startSite(options: SiteOptions): Promise<Site> {
  const { port, host = '127.0.0.1', base = 'http://localhost:8080', now = Date.now, interval = 2000 } = options
  const folder = findSiteFolder()
  const texts = readTexts(join(folder, 'content'))
  const started = new Date(now())
  const { resources, pages } = readResources(join(folder, 'public'), texts, base, started)
  const radio = createRadio(now)
  const site: SiteState = { resources, texts, now, interval }
  const server = createServer((req, res) => {
    answer(site, req, res).catch(() => {
      if (res.headersSent) return res.destroy()
      const sorry = errorPage('The tide took this page', 'Something of ours broke. It is not you.')
      send(req, res, resource(sorry, HTML, started, { status: 500, headers: { 'cache-control': 'no-store' } }))
    })
  })
  server.on('upgrade', radio.upgrade)
  await new Promise<void>((done, fail) => {
    server.once('error', fail)
    server.listen(port, host, done)
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not a TCP listener')
  return {
    url: `http://${host}:${address.port}`,
    pages,
    close: () =>
      new Promise((done) => {
        radio.close()
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}

interface SiteState {
  resources: ReadonlyMap<string, Resource>
  texts: readonly Text[]
  now: () => number
  interval: number
}

async function answer(site: SiteState, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const [path = '/', query = ''] = (req.url ?? '/').split('?', 2)
  const html = (body: string, status = 200) =>
    send(req, res, resource(body, HTML, new Date(site.now()), { status, headers: { 'cache-control': 'no-store' } }))
  const go = (status: number, location: string) => res.writeHead(status, { location, 'content-length': 0 }).end()

  if (req.method === 'POST' && path === '/subscribe') {
    const body = await readBody(req)
    if (body === undefined) {
      res.writeHead(413, { 'content-length': 0, connection: 'close' }).end()
      return
    }
    const form = new URLSearchParams(body)
    const mail = form.get('email') ?? ''
    if (/^[^\s@]+@[^\s@]+$/.test(mail)) go(303, '/thank-you')
    else html(subscribePage('That is not an address our postman knows.'), 422)
    return
  }
  if (req.method === 'OPTIONS') {
    res.writeHead(204, { allow: path === '/subscribe' ? 'GET, HEAD, OPTIONS, POST' : 'GET, HEAD, OPTIONS' }).end()
    return
  }
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    res.writeHead(405, { allow: 'GET, HEAD, OPTIONS', 'content-length': 0 }).end()
    return
  }
  const [noticesPath, notice] = notices(site.now())
  const found = path === noticesPath ? notice : site.resources.get(path)
  if (found) return send(req, res, found)
  const bare = path.replace(/\/+$/, '')
  const moved =
    MOVED.get(bare) ?? (/^\/journal\/[\w-]+$/.test(bare) ? bare.replace('/journal/', '/articles/') : undefined)
  if (moved) return void go(301, moved)
  if (bare !== path && site.resources.has(bare)) return void go(301, query ? `${bare}?${query}` : bare)
  switch (path) {
    case '/api/tides':
      return tides(site, req, res, new URLSearchParams(query))
    case '/api/gauge/stream':
      return streamGauge(req, res, site.now, site.interval)
    case '/search': {
      const words = (new URLSearchParams(query).get('q') ?? '').trim().slice(0, 100)
      const wanted = words.toLowerCase()
      return html(
        searchPage(
          words,
          site.texts.filter(
            (text) => text.path !== '/proofs' && `${text.title} ${text.body}`.toLowerCase().includes(wanted),
          ),
        ),
      )
    }
    case '/broken':
      throw new Error('a fault for demonstration')
    default:
      return html(errorPage('No such shore', 'There is nothing at this address, or the tide has been.'), 404)
  }
}

function tides(site: SiteState, req: IncomingMessage, res: ServerResponse, query: URLSearchParams): void {
  const json = (value: unknown, status = 200) =>
    send(
      req,
      res,
      resource(`${JSON.stringify(value)}\n`, 'application/json; charset=utf-8', new Date(site.now()), {
        status,
        headers: { 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' },
      }),
    )
  const id = query.get('station') ?? 'ostrand'
  const hours = Number(query.get('hours') ?? 48)
  const station = STATIONS.get(id)
  const from = Math.floor(site.now() / 3_600_000) * 3_600_000
  if (!station) json({ error: 'There is no such station.', stations: [...STATIONS.keys()] }, 404)
  else if (!(hours >= 1 && hours <= 720)) json({ error: 'hours is a number from 1 to 720.' }, 400)
  else json({ station: id, name: station.name, unit: 'm', extremes: extremes(station, from, from + hours * 3_600_000) })
}

async function readBody(req: IncomingMessage, limit = 16_384): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of req) {
    size += chunk.length
    // Reads the rest so that the response can be sent, but keeps nothing of it.
    if (size <= limit) chunks.push(chunk)
  }
  return size > limit ? undefined : Buffer.concat(chunks).toString()
}
