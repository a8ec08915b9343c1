import { html } from 'hono/html'
import { z } from 'zod'
import { need } from './openapi.js'
import type { Route } from './route.js'

const style = `:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}
code,pre{font:0.9em ui-monospace,monospace}pre{overflow:auto;padding:.8rem;border:1px solid #8885;border-radius:.4rem}
section{border-top:1px solid #8885;padding:.6rem 0}h2{font-size:1rem;margin:.4rem 0}p{margin:.3rem 0}
td{padding:.1rem .8rem .1rem 0;vertical-align:top}`

const parameters = (route: Route) =>
  Object.entries(route.query?.shape ?? {}).map(([name, schema]) => ({
    name,
    required: !z.object({ [name]: schema }).safeParse({}).success,
    doc: schema instanceof z.ZodType ? (schema.description ?? '') : '',
  }))

/** The API for a reader without tools: one page, no script, nothing loaded from anywhere. */
export const docsPage = (routes: readonly Route[]) => html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>readership API</title><style>${style}</style></head><body>
<h1>readership API</h1>
<p>The machine's version is <a href="openapi.json">openapi.json</a>. Make a key with
<code>readership keys create --name me</code> and send it:</p>
<pre>curl -H "Authorization: Bearer $KEY" "http://127.0.0.1:8081/api/stats/overview?site=1&amp;range=7d"</pre>
${routes
  .filter((route) => route.access !== 'operator')
  .map(
    (route) => html`<section><h2><code>${route.method.toUpperCase()} ${route.path}</code></h2>
<p>${route.summary}. ${route.access === 'public' ? 'Open to anyone.' : `Needs ${need(route)}.`}</p>
<table>${parameters(route).map(
      ({ name, required, doc }) =>
        html`<tr><td><code>${name}</code></td><td>${required ? 'required' : ''}</td><td>${doc}</td></tr>`,
    )}</table></section>`,
  )}
</body></html>`
