import { execFileSync, fork } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort, type Instance, startInstance, startOrigin } from '../fixtures/instance.js'

const CONNECTIONS = 32
const ROWS = 500
const BIN = resolve('dist/bin/readership.js')
/** The least that a Node server can do with a hit: it parses it and appends a line to a file. */
const FLOOR = resolve('../shared/bench/floor.mjs')

export interface Contender {
  name: string
  /** Hits in one request. */
  each: number
  port: number
  pid: number
  request(n: number): Buffer
  /** Returns the loopback address of the n-th connection, because the edge endpoint limits requests by address. */
  local(n: number): string
  /** Rows that are stored; undefined where nothing says so. */
  stored?(): Promise<number>
}

/**
 * Issue 5, show 5: hits a second of `/api/track` through the proxy, one hit a request, until all are committed, and the
 * CPU of each, the store's included; in turns with a bare Node server that appends a line. `rounds` and `ms` of a slice
 * are arguments.
 */
export async function run(args: string[] = []): Promise<void> {
  const rounds = Number(args[0] ?? 5)
  const ms = Number(args[1] ?? 5_000)
  const origin = await startOrigin()
  const at = mkdtempSync(join(tmpdir(), 'readership-bench-'))
  const data = join(at, 'data')
  const app = await startInstance(origin.url, data)
  const floor = existsSync(FLOOR) ? await startFloor(join(at, 'floor.ndjson')) : undefined
  if (!floor) console.log(`${FLOOR} is not there: no yardstick in this run`)
  try {
    const contenders: Contender[] = [
      {
        ...storeOf(app),
        name: 'track',
        each: 1,
        port: portOf(app.site),
        request: (n) => post('/_readership/api/track', hit(n), [`X-Forwarded-For: ${addressOf(n)}`]),
        local: () => '127.0.0.1',
      },
      ...(floor
        ? [{ ...floor, name: 'floor', each: 1, request: (n: number) => post('/', hit(n)), local: () => '127.0.0.1' }]
        : []),
    ]
    const slices = new Map(contenders.map(({ name }) => [name, [] as Slice[]]))
    let n = 0
    for (let round = -1; round < rounds; round++) {
      for (const one of round % 2 === 0 ? contenders : contenders.toReversed()) {
        const made = await slice(one, round < 0 ? 1_000 : ms, n)
        n += made.requests
        if (round >= 0) slices.get(one.name)?.push(made)
      }
    }
    console.log(`median (least, most) of ${rounds} slices of ${ms} ms, ${CONNECTIONS} connections`)
    for (const { name } of contenders) {
      const all = slices.get(name) ?? []
      const of = (key: 'rate' | 'cpu' | 'p99') => {
        const sorted = all.map((one) => one[key]).sort((a, b) => a - b)
        const show = (value: number | undefined) => (value ?? Number.NaN).toFixed(key === 'rate' ? 0 : 1)
        return `${show(sorted[sorted.length >> 1])} (${show(sorted[0])}, ${show(sorted.at(-1))})`
      }
      console.log(`${name.padEnd(6)} rows/s ${of('rate')}   CPU us/row ${of('cpu')}   answer p99 ms ${of('p99')}`)
    }
  } finally {
    await app.stop()
    floor?.stop()
    await origin.close()
    rmSync(at, { recursive: true, force: true })
  }
}

const storeOf = ({ admin, child }: Instance) => ({
  pid: child.pid ?? 0,
  stored: async () => rowsOf(await (await fetch(`${admin}/metrics`)).text()),
})

/** Deliveries of other servers to an instance, 500 rows each. */
export function createEdge(app: Instance): Contender {
  const key = ingestKey(app.data)
  return {
    ...storeOf(app),
    name: 'edge',
    each: ROWS,
    port: portOf(app.admin),
    request: (n) => signed(edgeBody(n), key),
    local: (n) => `127.0.1.${n + 1}`,
  }
}

interface Slice {
  requests: number
  /** Rows a second, from the first request until the last row was stored. */
  rate: number
  /** CPU microseconds of a row. */
  cpu: number
  p99: number
}

export async function slice(one: Contender, ms: number, from: number): Promise<Slice> {
  const before = (await one.stored?.()) ?? 0
  const cpu = cpuOf(one.pid)
  const started = performance.now()
  const latencies: number[] = []
  let next = from
  const ask = (n: number) =>
    new Promise<void>((done, failed) => {
      const socket = connect({ port: one.port, host: '127.0.0.1', localAddress: one.local(n) })
      let asked = 0
      let said = ''
      const send = () => {
        said = ''
        const request = one.request(next++)
        asked = performance.now()
        socket.write(request)
      }
      socket.setNoDelay(true)
      socket.on('connect', send).on('error', failed)
      socket.on('data', (part) => {
        said += part.toString('latin1')
        if (!isWhole(said)) return
        if (!/^HTTP\/1\.1 20[24] /.test(said)) return failed(new Error(`${one.name}: ${said.slice(0, 500)}`))
        const now = performance.now()
        latencies.push(now - asked)
        if (now - started < ms) return send()
        socket.destroy()
        done()
      })
    })
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, n) => ask(n)))
  const due = before + latencies.length * one.each
  for (let waits = 0; one.stored && waits < 600 && (await one.stored()) < due; waits++)
    await new Promise((wait) => setTimeout(wait, 50))
  const seconds = (performance.now() - started) / 1_000
  const rows = one.stored ? (await one.stored()) - before : latencies.length
  if (rows < latencies.length * one.each)
    throw new Error(`${one.name}: ${latencies.length * one.each} rows were sent, ${rows} are stored`)
  latencies.sort((a, b) => a - b)
  return {
    requests: latencies.length,
    rate: rows / seconds,
    cpu: (cpuOf(one.pid) - cpu) / rows,
    p99: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN,
  }
}

/** An answer without a body, or with all of the body that its length says. */
function isWhole(said: string): boolean {
  const end = said.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(said.slice(0, end))?.[1]
  if (/\r\ntransfer-encoding: chunked/i.test(said.slice(0, end))) return said.endsWith('0\r\n\r\n')
  return said.length >= end + 4 + Number(length ?? 0)
}

const BROWSERS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15',
]
const browserOf = (n: number) => BROWSERS[(n >> 2) % BROWSERS.length] ?? ''
/** 50,000 people with four hits each before they repeat; each endpoint has its own, so that views do not merge. */
const addressOf = (n: number, door: 81 | 82 = 81) => {
  const person = (n >> 2) % 50_000
  return `${door}.${2 + (person >> 16)}.${(person >> 8) & 255}.${person & 255}`
}
const pathOf = (n: number) => `/blog/page-${(n * 7919) % 2_000}`

/** As the tracker sends it. */
const hit = (n: number) =>
  Buffer.from(
    JSON.stringify({
      ...{ s: 1, t: 'pageview', u: `http://127.0.0.1${pathOf(n)}?utm_source=news`, r: 'https://www.google.com/' },
      ...{ w: 1512, h: 982, vw: 1280, vh: 720, l: 'en-GB', tz: 'Europe/Berlin', v: '0.1.0' },
    }),
  )

function post(path: string, body: Buffer, more: readonly string[] = []): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `User-Agent: ${BROWSERS[body.length % BROWSERS.length]}`,
    'Accept: */*',
    'Accept-Language: en-GB,en;q=0.9',
    'Accept-Encoding: gzip, deflate, br, zstd',
    'Content-Type: text/plain;charset=UTF-8',
    'Origin: http://127.0.0.1',
    'Referer: http://127.0.0.1/',
    'Sec-Fetch-Dest: empty',
    'Sec-Fetch-Mode: no-cors',
    'Sec-Fetch-Site: same-origin',
    ...more,
    `Content-Length: ${body.length}`,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
}

/** Half people's pages, half agents' fetches. */
function edgeBody(n: number): Buffer {
  const timestamp = new Date().toISOString()
  const row = (i: number) => ({ timestamp, hostname: '127.0.0.1', pathname: pathOf(i), status: 200 })
  const events = Array.from({ length: ROWS / 2 }, (_, i) => ({
    ...row(n * ROWS + i),
    ...{
      user_agent: browserOf(i),
      referrer: 'https://www.google.com/',
      language: 'en',
      ip: addressOf(n * ROWS + i, 82),
    },
    duration_ms: 12,
  }))
  const agent_events = Array.from({ length: ROWS / 2 }, (_, i) => ({
    ...row(n * ROWS + i),
    ...{ user_agent: 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)', method: 'GET' },
    ...{ bytes: 12_345, duration_ms: 12, content_type: 'text/html', conditional: 0, ip: addressOf(i, 82) },
  }))
  return Buffer.from(JSON.stringify({ site_id: 1, agent_events, events }))
}

function signed(body: Buffer, key: string): Buffer {
  const t = Math.floor(Date.now() / 1_000)
  const v1 = createHmac('sha256', key).update(`${t}.`).update(body).digest('hex')
  const head = [
    ...['POST /api/log/edge HTTP/1.1', 'Host: 127.0.0.1', 'Content-Type: application/json'],
    `x-service-signature: t=${t},v1=${v1}`,
    `Content-Length: ${body.length}`,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
}

function ingestKey(data: string): string {
  const said: unknown = JSON.parse(
    execFileSync(process.execPath, [BIN, 'sites', 'ingest-key', '1', '--json', '--data', data], { encoding: 'utf8' }),
  )
  const key = said && typeof said === 'object' && 'ingest_key' in said ? said.ingest_key : undefined
  if (typeof key !== 'string') throw new Error(`no ingest key in ${JSON.stringify(said)}`)
  return key
}

async function startFloor(file: string) {
  const port = await freePort()
  const child = fork(FLOOR, [String(port), file], { execArgv: [] })
  for (let tries = 0; tries < 100; tries++) {
    const up = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' }).catch(() => undefined)
    if (up) break
    await new Promise((wait) => setTimeout(wait, 50))
  }
  return { port, pid: child.pid ?? 0, stop: () => child.kill() }
}

const portOf = (url: string) => Number(new URL(url).port)

const rowsOf = (metrics: string): number =>
  [...metrics.matchAll(/^readership_rows_total\{[^}]*\} (\d+)/gm)].reduce((sum, [, n]) => sum + Number(n), 0)

/** CPU microseconds of a process and its children, in ticks of 10 ms. */
function cpuOf(pid: number): number {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const stats = all.flatMap((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const [, parent, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return [{ pid: Number(name), parent: Number(parent), cpu: (Number(rest[9]) + Number(rest[10])) * 10_000 }]
    } catch {
      return []
    }
  })
  const of = (id: number): number =>
    stats.reduce((sum, one) => sum + (one.pid === id ? one.cpu : one.parent === id ? of(one.pid) : 0), 0)
  return of(pid)
}
