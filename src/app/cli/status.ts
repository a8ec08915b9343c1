import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { InstanceStatus } from '../../api/instance-status.js'
import { isRunning, withClient } from './client.js'
import { type CommandCall, defineCommand, flag, JSON_FLAG, printJson } from './command.js'
import { escapeJson } from './escape.js'
import { formatStatus } from './status-screen.js'
import { drawOver, Failure } from './terminal.js'

const WATCH_INTERVAL_MS = 2_000
const CLEAR_SCREEN = '\u001b[2J'

export const status = defineCommand({
  name: 'status',
  summary: 'show the running instance at a glance: role, rows, files, ages, the last error',
  flags: z.object({
    watch: flag('--watch', 'draw again every two seconds', z.boolean().default(false)),
    json: JSON_FLAG,
  }),
  async run(call) {
    const { terminal, flags } = call
    const first = await fetchStatus(call)
    if (!flags.watch) return flags.json ? printJson(terminal, first) : terminal.out(formatStatus(terminal, first))
    await watch(call, first)
  },
})

/** Asks the running instance. Throws `Failure` if none runs: a directory at rest has no state. */
async function fetchStatus({ config, terminal }: CommandCall<unknown>): Promise<InstanceStatus> {
  if (!(await isRunning(config.data)))
    throw new Failure(`No instance runs on ${config.data}, or its store is not open yet: its log says more.`)
  return withClient({ config, terminal }, (client) => client.read(InstanceStatus, 'GET', '/control/status'))
}

/** Draws until a stop signal. An instance that is away is said so in its place, and asked again. */
async function watch(call: CommandCall<{ json: boolean }>, first: InstanceStatus): Promise<void> {
  const { terminal, flags } = call
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) terminal.onSignal(name, () => stop.abort())
  const isScreen = terminal.columns !== undefined && !flags.json
  const draw = (text: string) => {
    terminal.out(isScreen ? drawOver(text) : `${text}\n`)
  }
  if (isScreen) terminal.out(CLEAR_SCREEN)
  let next: InstanceStatus | Failure = first
  while (!stop.signal.aborted) {
    if (next instanceof Failure) draw(flags.json ? escapeJson({ error: next.message }) : `${next.message}\n`)
    else draw(flags.json ? escapeJson(next) : formatStatus(terminal, next))
    await sleep(WATCH_INTERVAL_MS, undefined, { signal: stop.signal }).catch(() => {})
    next = await fetchStatus(call).catch((error) => new Failure(error instanceof Error ? error.message : String(error)))
  }
}
