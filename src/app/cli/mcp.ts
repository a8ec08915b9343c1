import { once } from 'node:events'
import { Readable, Writable } from 'node:stream'
import { z } from 'zod'
import type { SendToApi } from '../../api/mcp/api-client.js'
import { ApiError } from '../../base/errors.js'
import { type Client, dashboardUrl, serviceUrl, withClient } from './client.js'
import { defineCommand, flag } from './command.js'
import { Failure, type Terminal } from './terminal.js'

export const mcp = defineCommand({
  name: 'mcp',
  summary: 'answer an AI program on this machine (MCP over standard input and output)',
  flags: z.object({
    write: flag('--write', 'offer the tools that store notes and goals', z.boolean().default(false)),
  }),
  async run(call) {
    const { config, terminal, flags } = call
    // Loaded here: no other command needs the protocol.
    const { createMcpServer } = await import('../../api/mcp/server.js')
    const { createApiClient } = await import('../../api/mcp/api-client.js')
    const { serveStdio, StdioServerTransport } = await import('@modelcontextprotocol/server/stdio')
    await withClient(call, async (client) => {
      const input = Readable.from(terminal.inputBytes?.() ?? [])
      const parts = {
        api: createApiClient(sendThrough(client)),
        dashboard: dashboardUrl(config, serviceUrl(config)),
        version: terminal.version,
        mayWrite: flags.write,
        log: (error: unknown) => terminal.err(`${error instanceof Error ? error.stack : error}\n`),
      }
      const transport = new StdioServerTransport(input, outputOf(terminal))
      const server = serveStdio(() => createMcpServer(parts), { transport })
      terminal.onSignal('SIGTERM', () => input.destroy())
      terminal.onSignal('SIGINT', () => input.destroy())
      await once(input, 'close')
      await server.close()
    })
  },
})

/** Returns what calls the API of the instance with the operator's rights. */
const sendThrough =
  (client: Client): SendToApi =>
  async (method, path, body) => {
    try {
      return { status: 200, json: await client.call(method, path, body) }
    } catch (error) {
      // The client has turned the error of the API into a sentence, which a model can use.
      if (error instanceof Failure) throw new ApiError('bad_request', error.message)
      throw error
    }
  }

const outputOf = (terminal: Terminal): Writable =>
  new Writable({
    write(chunk, _, done) {
      terminal.out(String(chunk))
      done()
    },
  })
