import { z } from 'zod'
import { HIT_KINDS } from '../../capture/hit.js'
import type { Route } from '../route.js'
import type { TrackEndpoints } from './endpoints.js'
import { pixelEndpoint, postEndpoint } from './web-handler.js'

const int = (about: string, example: number) => z.int().min(0).optional().describe(about).meta({ example })
const text = (about: string, example: string) => z.string().optional().describe(about).meta({ example })

/** Spec 2.4 for the document's readers. Nothing is checked by it: `readPayload` takes what it can of anything. */
const Payload = z.object({
  s: z.int().describe('Site id.').meta({ example: 1 }),
  t: z.enum(HIT_KINDS).default('pageview').describe('Kind. One that is unknown is dropped.'),
  n: text('Name of a custom event.', 'subscribe'),
  u: z
    .string()
    .describe('Full URL of the page, http or https.')
    .meta({ example: 'https://slackwater.example/glossary' }),
  r: text('Referrer; of a later pageview of the same document the page before.', 'https://www.google.com/'),
  w: int('Screen width, CSS pixels.', 1920),
  h: int('Screen height. Not kept.', 1080),
  vw: int('Viewport width.', 1600),
  vh: int('Viewport height. Not kept.', 900),
  l: text('Language.', 'en-GB'),
  tz: text('IANA time zone.', 'Europe/Berlin'),
  d: int(
    'Engaged milliseconds: of a pageview those of the page before in its document, of an engagement its own.',
    9000,
  ),
  sc: int('Deepest scroll in percent, of the page that `d` is of.', 80),
  p: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Properties; of an engagement with `id` what is known of the person.')
    .meta({ example: { plan: 'yearly' } }),
  id: text('Who the site says it is.', 'reader-3'),
  v: text('Version of the SDK. Not kept.', '0.1.0'),
  e: z
    .record(z.string(), z.number())
    .optional()
    .describe('Web Vitals measured: `lcp`, `cls`, `inp`, `fcp`, `ttfb`.')
    .meta({ example: { lcp: 1250 } }),
})
/** The same as text: numbers are digits, `p` and `e` JSON. */
const Query = z.object({
  ...Payload.shape,
  p: text('Properties, as JSON.', '{"plan":"yearly"}'),
  e: text('Web Vitals, as JSON.', '{"lcp":1250}'),
})

const failures = {
  403: 'No such site, or a hostname that is not its own. No body.',
  413: 'The body is larger than 64 KB. No body.',
}

/** The browsers' doors (spec 4.7), open to any page anywhere. */
export const trackRoutes = (doors: TrackEndpoints): Route[] => [
  {
    method: 'post',
    path: '/api/track',
    access: 'public',
    tag: 'track',
    summary: 'One hit of a browser; what is not recorded is answered the same',
    body: Payload,
    status: 204,
    otherResponses: failures,
    direct: postEndpoint(doors, 'track'),
  },
  {
    method: 'post',
    path: '/api/track/batch',
    access: 'public',
    tag: 'track',
    summary: 'Up to 200 hits; 403 where none of them is for a site that takes it',
    body: z.union([z.array(Payload), z.object({ events: z.array(Payload) })]),
    status: 204,
    otherResponses: failures,
    direct: postEndpoint(doors, 'batch'),
  },
  {
    method: 'get',
    path: '/api/track/pixel.gif',
    access: 'public',
    tag: 'track',
    summary: 'One hit by its query string; always the image',
    query: Query,
    contentType: 'image/gif',
    otherResponses: {},
    direct: pixelEndpoint(doors),
  },
]
