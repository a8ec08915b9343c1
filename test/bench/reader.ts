import { Agent, get } from 'node:http'

/** Readers of a site, in a process of their own: `rate` pages a second, told how long each took when asked. */
const [port = '0', rate = '1000'] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
const headers = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
  accept: 'text/html',
}
const STEP = 5
let latencies: number[] = []
let failed = 0

const visit = () => {
  const from = performance.now()
  const person = Math.floor(Math.random() * 20_000)
  const ofPerson = { ...headers, 'x-forwarded-for': `81.2.${person >> 8}.${person & 255}` }
  get({ host: '127.0.0.1', port, path: '/1024', agent, headers: ofPerson }, (res) => {
    res.resume()
    res.on('end', () => latencies.push(performance.now() - from))
  }).on('error', () => {
    failed += 1
  })
}
const begun = performance.now()
let sent = 0
setInterval(() => {
  const due = ((performance.now() - begun) / 1_000) * Number(rate)
  for (; sent < due; sent++) visit()
}, STEP)
process.on('message', () => {
  const sorted = latencies.toSorted((a, b) => a - b)
  process.send?.({ answered: sorted.length, failed, p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0 })
  latencies = []
  failed = 0
})
process.on('disconnect', () => process.exit(0))
