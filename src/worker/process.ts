import { writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { UnusableSetting } from '../base/errors.js'
import { openParentPort } from './parent-port.js'
import type { CreateParts } from './parts.js'
import { serve } from './serve.js'

/**
 * The heap is collected when it has doubled. By itself V8 collects it when it has grown by a third, on threads beside
 * this one: a fifth of the CPU of a row. The heap takes about 30 MB more at 6,000 rows a second.
 */
const HEAP_GROWTH_PERCENT = 100

/** Runs this process as the worker of `startWorkerClient`. */
export async function runWorkerProcess(createParts: CreateParts): Promise<void> {
  // Signals reach every process of a terminal or a unit: the site's process drains first, and then sends `close`.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`)
  // Does not end for a warning to a log that nothing reads any more.
  process.stderr.on('error', () => {})
  preferAsOomVictim()
  // DuckDB creates a new log after every checkpoint, and the data directory may be open to other users.
  process.umask(0o077)
  const port = openParentPort()
  try {
    await serve(port, await port.options, createParts)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    port.post({ type: 'failed', message, setting: error instanceof UnusableSetting })
    port.exit(1)
  }
}

/** On Linux: if memory runs out, the kernel ends this process and not the one that serves the site. */
function preferAsOomVictim(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '500')
  } catch {
    // Another system, or a container without /proc: the kernel chooses by size.
  }
}
