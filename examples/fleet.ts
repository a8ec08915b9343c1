// Two sidecars in front of one site, and a collector that stores the rows of both:
// node dist/examples/fleet.js http://localhost:3000 9000 8080 8081
// The collector answers the API. While it is down the sidecars keep their rows on disk.
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../bin/readership.js', import.meta.url))
const [origin = 'http://localhost:3000', port = '9000', ...ports] = process.argv.slice(2)
const collector = `http://127.0.0.1:${port}`
mkdirSync('fleet', { recursive: true })

const run = (...words: string[]) =>
  spawn(process.execPath, [program, ...words], { stdio: ['ignore', 'inherit', 'inherit'] })

const started = [run('serve', '--host', '127.0.0.1', '--port', port, '--data', 'fleet/collector')]
const isThere = () =>
  fetch(`${collector}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )
while (!(await isThere())) await new Promise((done) => setTimeout(done, 100))

// In production, the way that you distribute secrets brings the key to each server.
const said = execFileSync(process.execPath, [
  program,
  'sites',
  'ingest-key',
  '1',
  '--data',
  'fleet/collector',
  '--json',
])
const { ingest_key }: { ingest_key: string } = JSON.parse(said.toString())
writeFileSync('fleet/key', ingest_key, { mode: 0o600 })

for (const sidecar of ports.length > 0 ? ports : ['8080', '8081'])
  started.push(
    run(
      ...['proxy', origin, '--host', '127.0.0.1', '--port', sidecar, '--admin-port', '0'],
      ...['--data', `fleet/${sidecar}`],
      ...['--collector', collector, '--site', '1', '--ingest-key-file', 'fleet/key'],
    ),
  )
// The sidecars stop first, so that their last rows reach a running collector.
const stop = async () => {
  for (const one of started.reverse()) {
    const ended = new Promise((done) => one.once('exit', done))
    if (one.exitCode === null && one.kill('SIGTERM')) await ended
  }
}
process.once('SIGINT', stop).once('SIGTERM', stop)
