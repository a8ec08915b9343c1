import { z } from 'zod'
import { HIT_KINDS } from '../../capture/hit.js'
import type { Route } from '../route.js'
import type { TrackEndpoints } from './endpoints.js'
import { pixelEndpoint, postEndpoint } from './web-handler.js'

const int = (about: string, example: number) => z.int().min(0).optional().describe(about).meta({ example })
const text = (about: string, example: string) => z.string().optional().describe(about).meta({ example })

/** The payload, for the API document only: `readPayload` checks payloads, and leaves out keys that it cannot read. */
const Payload = z.object({
  s: z.int().describe('Site id.').meta({ example: 1 }),
  t: z.enum(HIT_KINDS).default('pageview').describe('Kind. Hits of an unknown kind are dropped.'),
  n: text('Name of a custom event.', 'subscribe'),
  u: z
    .string()
    .describe('Full URL of the page, http or https.')
    .meta({ example: 'https://slackwater.example/glossary' }),
  r: text('Referrer; for later pageviews of the same document the previous page.', 'https://www.google.com/'),
  w: int('Screen width, CSS pixels.', 1920),
  h: int('Screen height. Not stored.', 1080),
  vw: int('Viewport width.', 1600),
  vh: int('Viewport height. Not stored.', 900),
  l: text('Language.', 'en-GB'),
  tz: text('IANA time zone.', 'Europe/Berlin'),
  d: int(
    'Engaged milliseconds: of a pageview those on the previous page of its document, of an engagement its own.',
    9000,
  ),
  sc: int('Deepest scroll in percent, of the page that `d` is about.', 80),
  p: z
    .looseObject({
      url: z.string().optional().describe('The target of an `outbound` or `file_download`; their goals match it.'),
      form: z.string().optional().describe('The name of a `form`; form goals match it.'),
    })
    .optional()
    .describe("Properties; of an engagement with `id` the person's traits.")
    .meta({ example: { plan: 'yearly' } }),
  id: text("The site's own id of the person.", 'reader-3'),
  v: text('Version of the SDK. Not stored.', '1.0.0'),
  e: z
    .record(z.string(), z.number())
    .optional()
    .describe('Web Vitals: `lcp`, `cls`, `inp`, `fcp`, `ttfb`.')
    .meta({ example: { lcp: 1250 } }),
})
/** The payload as query parameters: numbers as digits, `p` and `e` as JSON. */
const Query = z.object({
  ...Payload.shape,
  p: text('Properties, as JSON.', '{"plan":"yearly"}'),
  e: text('Web Vitals, as JSON.', '{"lcp":1250}'),
})

const otherResponses = {
  403: 'There is no such site, or the hostname does not belong to it. The response has no body.',
  413: 'The request body is larger than 64 KB. The response has no body.',
}

/** The endpoints for browsers, open to pages of any origin. */
export const trackRoutes = (endpoints: TrackEndpoints): Route[] => [
  {
    method: 'post',
    path: '/api/track',
    access: 'public',
    tag: 'track',
    summary: 'Record one hit of a browser; dropped hits get the same response',
    body: Payload,
    status: 204,
    otherResponses,
    direct: postEndpoint(endpoints, 'track'),
  },
  {
    method: 'post',
    path: '/api/track/batch',
    access: 'public',
    tag: 'track',
    summary:
      'Record up to 200 hits of at most 64 KB each; 403 if a site refused one and none was accepted. The header `readership-refused` names refused payloads by their place, from 0: `3=malformed, 7=too_large`',
    body: z.union([z.array(Payload), z.object({ events: z.array(Payload) })]),
    status: 204,
    otherResponses: {
      403: otherResponses[403],
      413: 'The request body is larger than 12.8 MB. The response has no body.',
      503: 'Too many large batches at once; send this one again. The response has no body.',
    },
    direct: postEndpoint(endpoints, 'batch'),
  },
  {
    method: 'get',
    path: '/api/track/pixel.gif',
    access: 'public',
    tag: 'track',
    summary: 'Record one hit by its query string; always returns the image',
    query: Query,
    contentType: 'image/gif',
    otherResponses: {},
    direct: pixelEndpoint(endpoints),
  },
]
