// A Hono site on Cloudflare Workers, which ships its rows to a collector: COLLECTOR is a variable of the Worker,
// INGEST_KEY a secret (`wrangler secret put INGEST_KEY`). Pages load the tracker from the collector too.
import { Hono, type MiddlewareHandler } from 'hono'
import { webMiddleware } from 'readership/hono'
import { webReadership } from 'readership/web'

const site = new Hono<{ Bindings: { COLLECTOR: string; INGEST_KEY: string } }>()
let recording: MiddlewareHandler | undefined
site.use((c, next) => {
  recording ??= webMiddleware(webReadership({ collector: c.env.COLLECTOR, site: 1, ingest_key: c.env.INGEST_KEY }), {
    clientAddress: ({ req }) => req.header('cf-connecting-ip') ?? '',
  })
  return recording(c, next)
})
site.get('/', (c) =>
  c.html(`<!doctype html><title>Hello</title>
<script defer src="${c.env.COLLECTOR}/script.js?site=1"></script><h1>Hello from a Worker</h1>`),
)

export default site
