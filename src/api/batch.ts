import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import { renderError } from './error-response.js'
import { type Call, parseBody, type Route, routeMaker } from './route.js'

/** Requests of one batch: more than any view of the dashboard asks at once. */
const MAX_PARTS = 32
const MAX_PART_CHARACTERS = 8_000

const Batch = z.strictObject({
  requests: z
    .array(z.string().max(MAX_PART_CHARACTERS))
    .min(1)
    .max(MAX_PARTS)
    .describe('Paths with their queries, such as `/api/stats/overview?site=1`: GET endpoints that return JSON.'),
})

/** Routes whose answers a batch may carry: JSON that a credential opens, and that records nothing. */
const isBatchable = (route: Route): boolean =>
  route.method === 'get' &&
  route.data !== undefined &&
  route.contentType === undefined &&
  !['public', 'sign_in', 'signed', 'operator'].includes(route.access)

/**
 * POST /api/batch: several GET requests in one, for views with many reads. Each part is dispatched as a request of its own
 * with the caller's credentials, so that authorisation, validation and limits are those of the single request. A line leaves
 * as soon as its part has its answer: a slow part holds up none of the others.
 */
export function batchRoute(routes: readonly Route[]): Route {
  const patterns = routes.filter(isBatchable).map(({ path }) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`))
  return routeMaker('batch')('post', '/api/batch', 'public', {
    summary: 'Answer several GET requests in one response, a line for each as soon as it is ready',
    body: Batch,
    contentType: 'application/x-ndjson',
    run: async (call) => {
      const { requests } = await parseBody(call, Batch)
      const parts = requests.map((part, i) => {
        const url = part.startsWith('/') && URL.canParse(part, 'http://part') ? new URL(part, 'http://part') : undefined
        if (url?.host !== 'part' || !patterns.some((one) => one.test(url.pathname)))
          throw new ApiError(
            'validation_error',
            `requests[${i}] must be a GET endpoint that returns JSON, such as /api/stats/overview?site=1.`,
            `requests[${i}]`,
          )
        return new URL(url.pathname + url.search, call.request.url)
      })
      return new Response(answerParts(parts, call), { headers: { 'content-type': 'application/x-ndjson' } })
    },
  })
}

/** Headers of the batch's own body, which a part does not have. */
const BODY_HEADERS = ['content-type', 'content-length', 'transfer-encoding', 'if-none-match', 'if-match']

function answerParts(parts: readonly URL[], { request, dispatch }: Call): ReadableStream<Uint8Array> {
  const headers = new Headers(request.headers)
  for (const name of BODY_HEADERS) headers.delete(name)
  const { signal } = request
  const answerPart = async (url: URL, part: number): Promise<string> => {
    const response = await dispatch(new Request(url, { headers, signal })).catch((error) =>
      renderError(error, () => {}),
    )
    return `{"part":${part},"status":${response.status},"body":${await response.text()}}\n`
  }
  const encoder = new TextEncoder()
  let isCancelled = false
  return new ReadableStream({
    async start(controller) {
      const send = (line: string) => isCancelled || controller.enqueue(encoder.encode(line))
      await Promise.all(parts.map((url, i) => answerPart(url, i).then(send)))
      if (!isCancelled) controller.close()
    },
    cancel() {
      isCancelled = true
    },
  })
}
