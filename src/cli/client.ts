import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { z } from 'zod'
import type { Config } from '../config.js'
import { socketPath } from '../http/server.js'
import { serviceUrl } from './first-link.js'
import { createLog } from './log.js'
import { Failure, type Terminal } from './terminal.js'

interface ControlResponse {
  status: number
  body: AsyncIterable<Uint8Array>
}

/** The service as its operator sees it: a running instance, or the store opened here. */
export interface Client {
  /** Whether another process runs the instance. */
  readonly running: boolean
  /** The answer's JSON; throws `Failure` with the service's message. */
  call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<unknown>
  /** Each line of a stream as JSON. */
  lines(path: string): AsyncIterable<unknown>
  /** A file, as it comes; throws where it breaks off. */
  file(path: string): AsyncIterable<Uint8Array>
  close(): Promise<void>
}

/** Whether a process answers at the data directory's control socket. */
export async function isRunning(data: string): Promise<boolean> {
  const agent = new Agent()
  try {
    const answer = await requestOverSocket(agent, data, 'GET', '/healthz')
    answer.resume()
    await once(answer, 'end')
    return true
  } catch (error) {
    const code = z.object({ code: z.string() }).safeParse(error).data?.code
    if (code === 'EACCES') throw new Failure(`${socketPath(data)} is another user's; run this as that user.`)
    if (code !== 'ENOENT' && code !== 'ECONNREFUSED' && code !== 'ENOTDIR') throw error
    return false
  } finally {
    agent.destroy()
  }
}

/** By the system's own client: loading another is a quarter of what a short command takes. */
async function requestOverSocket(
  agent: Agent,
  data: string,
  method: string,
  path: string,
  body?: string,
): Promise<IncomingMessage> {
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  const asked = request({ agent, socketPath: socketPath(data), host: 'readership', method, path, headers })
  return new Promise((resolve, reject) => asked.on('response', resolve).on('error', reject).end(body))
}

/**
 * The running instance of the data directory, through its control socket; where none runs, the store itself.
 * `create`: a data directory that is not there yet is made rather than refused.
 */
export async function connect(config: Config, terminal: Terminal, options: { create?: boolean } = {}): Promise<Client> {
  if (await isRunning(config.data)) {
    const agent = new Agent({ keepAlive: true })
    const viaSocket = async (method: string, path: string, body?: string): Promise<ControlResponse> => {
      const answer = await requestOverSocket(agent, config.data, method, path, body)
      return { status: answer.statusCode ?? 0, body: answer }
    }
    return createClient(viaSocket, true, async () => agent.destroy())
  }
  if (!options.create && existsSync(join(config.data, 'spool')) && !existsSync(join(config.data, 'control.duckdb')))
    throw new Failure(`No rows are kept in ${config.data}, they were shipped to a collector: ask there.`)
  if (!options.create && !existsSync(join(config.data, 'control.duckdb')))
    throw new Failure(`No data in ${config.data}: start \`readership proxy\` first, or name the directory with --data.`)
  // Only here: a command that finds a running instance has no use for a store.
  const { openInstance } = await import('../instance/open-instance.js')
  const instance = await openInstance(config, { log: createLog(terminal, 'silent'), service: serviceUrl(config) })
  const direct = async (method: string, path: string, body?: string): Promise<ControlResponse> => {
    const reply = await instance.control(
      new Request(`http://readership${path}`, { method, ...(body === undefined ? {} : { body }) }),
    )
    return { status: reply.status, body: reply.body ?? (async function* () {})() }
  }
  return createClient(direct, false, () => instance.close())
}

const ErrorBody = z.object({
  error: z.object({ code: z.string(), message: z.string(), field: z.string().optional() }),
})

function createClient(
  ask: (method: string, path: string, body?: string) => Promise<ControlResponse>,
  running: boolean,
  close: () => Promise<void>,
): Client {
  const checked = async (method: string, path: string, body?: unknown): Promise<ControlResponse> => {
    const reply = await ask(method, path, body === undefined ? undefined : JSON.stringify(body))
    if (reply.status < 400) return reply
    const said = ErrorBody.safeParse(JSON.parse(await readText(reply)))
    if (!said.success) throw new Failure(`The service answered ${reply.status}.`)
    const { code, message, field } = said.data.error
    // A value that the service refuses was typed wrong: usage, as where the command itself can tell (contract 2).
    if (code !== 'validation_error') throw new Failure(message)
    throw new Failure(field === undefined || message.includes(field) ? message : `${field}: ${message}`, 2)
  }
  return {
    running,
    async call(method, path, body) {
      const text = await readText(await checked(method, path, body))
      return text === '' ? undefined : JSON.parse(text)
    },
    async *lines(path) {
      const { body } = await checked('GET', path)
      const decoder = new TextDecoder()
      let rest = ''
      for await (const chunk of body) {
        const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
        rest = parts.pop() ?? ''
        for (const line of parts) if (line !== '') yield JSON.parse(line)
      }
    },
    async *file(path) {
      const { body } = await checked('GET', path)
      try {
        yield* body
      } catch (cause) {
        throw new Failure('The service broke it off before its end; its log says why.', 1, { cause })
      }
    },
    close,
  }
}

async function readText(reply: ControlResponse): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of reply.body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
