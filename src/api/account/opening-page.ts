import { html } from 'hono/html'
import { htmlResponse, pageOf, renderPage } from './html.js'

/** Responds to a browser while the store is being opened: the page loads itself again until the dashboard is there. */
export function openingPage(request: Request, stage: string | undefined): Response {
  const page = pageOf({ request })
  const { title, text } = page.texts.opening
  const body = html`<p>${text}</p>${stage === undefined ? '' : html`<p class="aside">${stage}</p>`}`
  const response = htmlResponse(renderPage(page, { title, body }), 503)
  response.headers.set('retry-after', '5')
  response.headers.set('refresh', '5')
  response.headers.set('cache-control', 'no-store')
  response.headers.set(
    'content-security-policy',
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  )
  return response
}
