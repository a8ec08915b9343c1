import { connect, type Socket } from 'node:net'

const VISITORS = 5_000
const AGENTS = 60
const URLS = 2_000

/** As browsers send it: visitor `n` of many, each with its address behind the load balancer, its browser and its page. */
const shared = (n: number): string[] => [
  'Host: site.example',
  `User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${100 + (n % AGENTS)}.0.0.0 Safari/537.36`,
  'Accept-Language: en-GB,en;q=0.9,de;q=0.8',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Referer: https://site.example/blog/',
  'Cookie: session=0123456789abcdef0123456789abcdef; theme=dark',
  'Sec-Fetch-Site: same-origin',
  `X-Forwarded-For: 198.18.${(n % VISITORS) >> 8}.${n & 255}`,
  'Connection: keep-alive',
]
const NAVIGATION = [
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  'Sec-Fetch-Dest: document',
  'Sec-Fetch-Mode: navigate',
]
const ASSET = [
  'Accept: image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8',
  'Sec-Fetch-Dest: image',
  'Sec-Fetch-Mode: no-cors',
]

export interface LoadOptions {
  /** Path of the page; its body has `size` bytes. */
  path: string
  size: number
  connections: number
  ms: number
  /** Requests for assets after each page, on the same connection. */
  assets?: number
  /** Requests a second, whether or not the ones before are answered; without it each connection waits for its response. */
  rate?: number | undefined
}

interface Load {
  requests: number
  seconds: number
  /** Milliseconds of each request, from the moment at which it was due, ascending. */
  latencies: Float64Array
}

/** Sends GETs for `ms` and waits for their responses. */
export async function load(port: number, options: LoadOptions): Promise<Load> {
  const { path, size, connections, ms, assets = 0, rate } = options
  const started = performance.now()
  const latencies: number[] = []
  let count = 0
  const nextRequest = (turn: number): string => {
    const n = count++ * 7_919
    const kind = turn % (assets + 1) === 0 ? NAVIGATION : ASSET
    return `GET ${path}?${n % URLS} HTTP/1.1\r\n${[...shared(n), ...kind].join('\r\n')}\r\n\r\n`
  }
  /** Time from one request of a connection to its next. */
  const interval = rate === undefined ? 0 : (connections / rate) * 1_000
  const run = (index: number) =>
    new Promise<void>((resolve, reject) => {
      const socket: Socket = connect(port, '127.0.0.1')
      let turn = 0
      let due = started + (interval * index) / connections
      let got = 0
      let whole = 0
      const ask = () => {
        got = 0
        whole = 0
        if (rate === undefined) due = performance.now()
        socket.write(nextRequest(turn++))
      }
      const askWhenDue = () => {
        const wait = due - performance.now()
        if (wait > 0) setTimeout(ask, wait)
        else ask()
      }
      socket.setNoDelay(true)
      socket.on('connect', askWhenDue)
      socket.on('error', reject)
      socket.on('end', () => reject(new Error('the server closed a connection')))
      socket.on('data', (part) => {
        if (whole === 0) {
          const end = part.indexOf('\r\n\r\n')
          if (end < 0 || !part.subarray(0, 15).includes(' 200 '))
            return reject(new Error(part.toString('latin1', 0, 200)))
          whole = end + 4 + size
        }
        got += part.length
        if (got < whole) return
        const now = performance.now()
        latencies.push(now - due)
        due += interval
        if (Math.max(now, due) - started < ms) return askWhenDue()
        socket.destroy()
        resolve()
      })
    })
  await Promise.all(Array.from({ length: connections }, (_, index) => run(index)))
  const seconds = (performance.now() - started) / 1_000
  return { requests: latencies.length, seconds, latencies: Float64Array.from(latencies).sort() }
}
