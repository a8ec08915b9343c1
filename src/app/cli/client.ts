import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { socketPath } from '../../api/server.js'
import type { Config } from '../config.js'
import { createLog } from './log.js'
import { showElapsed } from './progress.js'
import { Failure, type Terminal } from './terminal.js'

interface ControlResponse {
  status: number
  body: AsyncIterable<Uint8Array>
}
type SendRequest = (method: string, path: string, body?: string) => Promise<ControlResponse>

/** Method, path with query, and body (sent as JSON). */
export type ApiRequest = readonly [method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown]

/** The API with the operator's rights: of a running instance, or of the store opened in this process. */
export type Client = ReturnType<typeof createClient>

/** Returns whether a process answers at the data directory's control socket. */
export async function isRunning(data: string): Promise<boolean> {
  const agent = new Agent()
  try {
    const response = await requestOverSocket(agent, data, 'GET', '/healthz')
    response.resume()
    await once(response, 'end')
    return true
  } catch (error) {
    const code = z.object({ code: z.string() }).safeParse(error).data?.code
    if (code === 'EACCES') throw new Failure(`${socketPath(data)} belongs to another user; run this as that user.`)
    if (code !== 'ENOENT' && code !== 'ECONNREFUSED' && code !== 'ENOTDIR') throw error
    return false
  } finally {
    agent.destroy()
  }
}

/** Uses Node's own HTTP client: loading undici would be a quarter of a short command's run time. */
async function requestOverSocket(
  agent: Agent,
  data: string,
  method: string,
  path: string,
  body?: string,
): Promise<IncomingMessage> {
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  const sent = request({ agent, socketPath: socketPath(data), host: 'readership', method, path, headers })
  return new Promise((resolve, reject) => sent.on('response', resolve).on('error', reject).end(body))
}

/** Formats a host as part of a URL: an IPv6 address has brackets there. */
const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)

/** Formats where the service listens, as a URL that works on this machine. */
export function serviceUrl({ admin_host, admin_port }: Pick<Config, 'admin_host' | 'admin_port'>): string {
  const host = /^(0\.0\.0\.0|::)$/.test(admin_host) ? 'localhost' : admin_host
  return `http://${urlHost(host)}:${admin_port}`
}

/** Formats the service's listener as it is set: at which addresses it is reached. */
export const listenerUrl = ({ admin_host, admin_port }: Pick<Config, 'admin_host' | 'admin_port'>): string =>
  `http://${urlHost(admin_host)}:${admin_port}`

/** Formats where a browser on this machine reaches the site's listener. */
export const reachedSiteUrl = (config: Pick<Config, 'tls_cert' | 'host' | 'port'>): string =>
  siteUrl({ ...config, host: /^(0\.0\.0\.0|::)$/.test(config.host) ? 'localhost' : config.host })

/** Formats the site's listener as it is set. */
export const siteUrl = ({ tls_cert, host, port }: Pick<Config, 'tls_cert' | 'host' | 'port'>): string =>
  `${tls_cert ? 'https' : 'http'}://${urlHost(host)}:${port}`

/** Formats where the service listens, as a URL that works on other machines of the network. */
export const networkUrl = ({ admin_port }: Pick<Config, 'admin_port'>): string => `http://${hostname()}:${admin_port}`

/** Formats where people reach the dashboard: at the public URL if that has HTTPS, otherwise at the listener itself. */
export const dashboardUrl = ({ public_url }: Pick<Config, 'public_url'>, listener: string): string =>
  `${(public_url !== undefined && /^https:/i.test(public_url) ? public_url : listener).replace(/\/$/, '')}/`

/** Formats where the site's listener serves the dashboard; undefined unless `expose` names the API. */
export const exposedDashboardUrl = (config: Config): string | undefined =>
  config.expose.includes('api') ? dashboardUrl(config, `${siteUrl(config)}${config.base_path}`) : undefined

interface ConnectOptions {
  /** Creates the data directory if it does not exist, instead of failing. */
  create?: boolean | undefined
}

/**
 * Connects to the running instance of the data directory through its control socket. If none runs, opens the store in
 * this process.
 */
async function connect(config: Config, terminal: Terminal, { create = false }: ConnectOptions): Promise<Client> {
  if (await isRunning(config.data)) return connectToRunning(config)
  if (!create && config.control === undefined && !existsSync(join(config.data, 'control.duckdb')))
    throw new Failure(
      existsSync(join(config.data, 'spool'))
        ? `${config.data} holds no analytics data: its rows were shipped to a collector: ask there.`
        : `No data in ${config.data}: start \`readership proxy\` first, or name the directory with --data.`,
    )
  // Loaded here, because a command that finds a running instance needs no store.
  const { openInstance } = await import('../instance/open-instance.js')
  // Backups each night are for a server to take.
  const { backup_dir: _, ...rest } = config
  const opening = openInstance(rest, { log: createLog(terminal, 'silent'), service: () => serviceUrl(config) })
  const instance = await showElapsed(terminal, () => 'Opening the store', opening).catch(async (error) => {
    // An instance that was starting has the files, and by now its socket.
    if (await isRunning(config.data)) return undefined
    throw error
  })
  if (!instance) return connectToRunning(config)
  const send: SendRequest = async (method, path, body) => {
    const init = body === undefined ? { method } : { method, body }
    const response = await instance.control(new Request(`http://readership${path}`, init))
    return { status: response.status, body: response.body ?? (async function* () {})() }
  }
  return createClient(send, false, () => instance.close())
}

function connectToRunning({ data }: Config): Client {
  // Each request has a connection of its own: the instance closes an idle one after seconds, and a request that is sent
  // at that moment, as `import --follow` does after a pause, would fail.
  const agent = new Agent()
  const send: SendRequest = async (method, path, body) => {
    const response = await requestOverSocket(agent, data, method, path, body)
    return { status: response.statusCode ?? 0, body: response }
  }
  return createClient(send, true, async () => agent.destroy())
}

/** Connects to the instance of the data directory, calls `use` and closes the connection, also after an error. */
export async function withClient<T>(
  { config, terminal }: { config: Config; terminal: Terminal },
  use: (client: Client) => Promise<T>,
  options: ConnectOptions = {},
): Promise<T> {
  const client = await connect(config, terminal, options)
  try {
    return await use(client)
  } finally {
    await client.close()
  }
}

const ApiResponse = z.object({ data: z.unknown() })
const ErrorBody = z.object({
  error: z.object({ code: z.string(), message: z.string(), field: z.string().optional() }),
})

function createClient(sendRequest: SendRequest, running: boolean, close: () => Promise<void>) {
  /** Throws `Failure` with the service's message if the response is an error. */
  const send = async (method: string, path: string, body?: unknown): Promise<ControlResponse> => {
    const response = await sendRequest(method, path, body === undefined ? undefined : JSON.stringify(body))
    if (response.status < 400) return response
    const parsed = ErrorBody.safeParse(JSON.parse(await readText(response)))
    if (!parsed.success) throw new Failure(`The service responded with status ${response.status}.`)
    const { code, message, field } = parsed.data.error
    // A value that the service refuses was mistyped, so this is wrong usage, like a flag that the command refuses.
    if (code !== 'validation_error') throw new Failure(message, 1, { cause: { code } })
    throw new Failure(field === undefined || message.includes(field) ? message : `${field}: ${message}`, 2)
  }
  /** Yields each line of a stream; a request with a body is a POST. */
  async function* textLines(path: string, sent?: unknown): AsyncGenerator<string> {
    const { body } = await send(sent === undefined ? 'GET' : 'POST', path, sent)
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of body) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = parts.pop() ?? ''
      for (const line of parts) if (line !== '') yield line
    }
  }
  /** Returns the response's JSON. */
  const call = async (...[method, path, body]: ApiRequest): Promise<unknown> => {
    const text = await readText(await send(method, path, body))
    return text === '' ? undefined : JSON.parse(text)
  }
  return {
    /** True if another process runs the instance. */
    running,
    call,
    /** Returns the `data` of the response, which must have this shape. */
    read: async <T extends z.ZodType>(data: T, ...request: ApiRequest): Promise<z.output<T>> =>
      data.parse(ApiResponse.parse(await call(...request)).data),
    /** Yields each line of a stream as JSON. */
    async *lines(path: string): AsyncGenerator<unknown> {
      for await (const line of textLines(path)) yield JSON.parse(line)
    },
    textLines,
    /** Yields a file in chunks, a request with a body is a POST; throws `Failure` if the service cuts it short. */
    async *file(path: string, sent?: unknown): AsyncGenerator<Uint8Array> {
      const { body } = await send(sent === undefined ? 'GET' : 'POST', path, sent)
      try {
        yield* body
      } catch (cause) {
        throw new Failure('The service ended the file early; its log says why.', 1, { cause })
      }
    },
    close,
  }
}

async function readText({ body }: ControlResponse): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
