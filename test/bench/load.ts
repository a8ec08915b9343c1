import { connect, type Socket } from 'node:net'

/** As a browser sends it. */
const SHARED = [
  'Host: site.example',
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'Accept-Language: en-GB,en;q=0.9,de;q=0.8',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Referer: https://site.example/blog/',
  'Cookie: session=0123456789abcdef0123456789abcdef; theme=dark',
  'Sec-Fetch-Site: same-origin',
  'Connection: keep-alive',
]
const NAVIGATION = [
  ...SHARED,
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  'Sec-Fetch-Dest: document',
  'Sec-Fetch-Mode: navigate',
]
const ASSET = [
  ...SHARED,
  'Accept: image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8',
  'Sec-Fetch-Dest: image',
  'Sec-Fetch-Mode: no-cors',
]

interface Load {
  requests: number
  seconds: number
  /** Milliseconds of each request, ascending. */
  latencies: Float64Array
}

/**
 * Keeps `connections` busy with GETs of `size` bytes for `ms`; each waits for its response before the next request. After
 * each page a connection requests this many `assets`.
 */
export async function load(port: number, size: number, connections: number, ms: number, assets = 0): Promise<Load> {
  const started = performance.now()
  const latencies: number[] = []
  const request = (fields: string[]) => `GET /${size} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`
  const [page, asset] = [request(NAVIGATION), request(ASSET)]
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const socket: Socket = connect(port, '127.0.0.1')
      let count = 0
      let asked = 0
      let got = 0
      let whole = 0
      const ask = () => {
        got = 0
        whole = 0
        asked = performance.now()
        socket.write(count++ % (assets + 1) === 0 ? page : asset)
      }
      socket.setNoDelay(true)
      socket.on('connect', ask)
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
        latencies.push(now - asked)
        if (now - started < ms) return ask()
        socket.destroy()
        resolve()
      })
    })
  await Promise.all(Array.from({ length: connections }, one))
  const seconds = (performance.now() - started) / 1_000
  return { requests: latencies.length, seconds, latencies: Float64Array.from(latencies).sort() }
}
