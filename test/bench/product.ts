import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from './proxy.js'

const PROGRAM = fileURLToPath(new URL('../../bin/readership.js', import.meta.url))
const POLL_MS = 25

/** Starts `readership proxy` as an operator does, with an empty data directory or `data`, and without a network. */
export async function startProduct(origin: string, given: { data?: string } = {}) {
  const [port, adminPort] = [await freePort(), await freePort()]
  const data = given.data ?? mkdtempSync(join(tmpdir(), 'readership-bench-'))
  const flags = ['--port', port, '--admin-port', adminPort, '--data', data, '--log-level', 'warn'].map(String)
  const started = performance.now()
  const since = () => performance.now() - started
  const program = spawn(
    process.execPath,
    [PROGRAM, 'proxy', origin, ...flags, '--offline', '--trust-proxy', 'loopback'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  return {
    pid: program.pid ?? 0,
    port,
    data,
    /** Milliseconds from the start until a page is served, and until rows are stored. */
    serving: answers(port, '/1024').then(since),
    ready: answers(adminPort, '/readyz').then(since),
    async stop() {
      program.kill()
      await once(program, 'exit')
      if (given.data === undefined) rmSync(data, { recursive: true, force: true })
    },
  }
}

/** Resolves when a GET is answered with 200; rejects after half a minute. */
async function answers(port: number, path: string): Promise<void> {
  const until = performance.now() + 30_000
  while (performance.now() < until) {
    const status = await new Promise<number>((resolve) => {
      get({ port, host: '127.0.0.1', path, agent: false }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      }).on('error', () => resolve(0))
    })
    if (status === 200) return
    await sleep(POLL_MS)
  }
  throw new Error(`nothing answers ${path} on port ${port}`)
}
