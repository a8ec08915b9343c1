import { type McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { ApiError } from '../../base/errors.js'
import { createAnswer, RESOURCE_BOUNDS } from './answer.js'
import { pathWith, type Query } from './api-client.js'
import type { ToolContext } from './tool.js'

const JSON_TYPE = 'application/json'
/** Versions of a file that are read: the texts of more would not fit. */
const VERSIONS = 5

/** The requests that answer `readership://sites/{site}/{kind}`. */
const OF_SITE: Readonly<Record<string, (site: string) => readonly [path: string, query: Query]>> = {
  agents: (site) => ['/api/agents/catalog', { site, limit: 1000 }],
  robots: (site) => ['/api/policy/versions', { site, kind: 'robots', limit: VERSIONS }],
  llms: (site) => ['/api/policy/versions', { site, kind: 'llms', limit: VERSIONS }],
}
const Metrics = z.object({ metrics: z.unknown() })

/** Adds what a model may read at length: the meaning of the numbers, known agents, versions of robots.txt and llms.txt. */
export function addResources(server: McpServer, { api }: ToolContext, messageOf: (error: unknown) => string): void {
  const read = async (uri: URL, path: string, query: Query, pick: (data: unknown) => unknown = (data) => data) => {
    const { data } = await api.get(path, query)
    const answer = createAnswer({ data: pick(data), requests: [pathWith(path, query)] }, RESOURCE_BOUNDS)
    return { contents: [{ uri: uri.href, mimeType: JSON_TYPE, text: JSON.stringify(answer) }] }
  }
  /** The protocol passes the message of any error on, so that it must be one for clients. */
  const guard = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      throw new Error(messageOf(error))
    }
  }
  server.registerResource(
    'definitions',
    'readership://definitions',
    { title: 'Meaning of each number', description: 'Every metric with its meaning.', mimeType: JSON_TYPE },
    (uri) => guard(() => read(uri, '/api/stats/dimensions', {}, (data) => Metrics.parse(data).metrics)),
  )
  server.registerResource(
    'of_site',
    new ResourceTemplate('readership://sites/{site}/{kind}', { list: undefined }),
    {
      title: 'Agents, robots.txt and llms.txt of a site',
      description:
        'kind is agents (the catalogue, and which were seen), robots or llms (the last versions with text, times and readers).',
      mimeType: JSON_TYPE,
    },
    (uri, { site, kind }) =>
      guard(async () => {
        const request = OF_SITE[String(kind)]?.(String(site))
        if (!request) throw new ApiError('not_found', 'kind must be agents, robots or llms.', 'kind')
        return read(uri, ...request)
      }),
  )
}
