import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import { z } from 'zod'
import { ErrorBody } from './error.js'
import { Id, type Route } from './route.js'

const json = (schema: z.ZodType) => ({ 'application/json': { schema } })
const failed = (description: string) => ({ description, content: json(ErrorBody) })

/** A route as the OpenAPI document has it: what the table says, and the failures that follow from it. */
function describe(route: Route) {
  const status = route.status ?? 200
  const guarded = route.access !== 'public'
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].flatMap(([, name]) => (name === undefined ? [] : [name]))
  const content =
    route.data === undefined
      ? { [route.type ?? 'application/json']: { schema: z.string() } }
      : json(z.object({ data: route.data, ...(route.meta ? { meta: route.meta } : {}) }))
  return createRoute({
    method: route.method,
    path: route.path,
    operationId: `${route.method}_${route.path.replace(/^\/(api\/)?/, '').replace(/\W+/g, '_')}`.replace(/_$/, ''),
    tags: [route.tag],
    summary: route.summary,
    description: guarded ? `Needs ${need(route)}.` : 'Open.',
    security: guarded ? [{ api_key: [] }] : [],
    request: {
      ...(names.length > 0 ? { params: z.object(Object.fromEntries(names.map((name) => [name, Id]))) } : {}),
      ...(route.query ? { query: route.query } : {}),
      ...(route.body ? { body: { required: true, content: json(route.body) } } : {}),
    },
    responses: {
      [status]: status === 204 ? { description: 'Done.' } : { description: 'The answer.', content },
      ...(guarded
        ? { 401: failed('No valid credential.'), 403: failed('The credential lacks the scope or role.') }
        : {}),
      ...(guarded ? { 404: failed('Not there, or not for this credential.') } : {}),
      ...(route.body ? { 400: failed('Not JSON.'), 413: failed('The body is too large.') } : {}),
      ...(route.query || route.body ? { 422: failed('A value is wrong; `field` names it.') } : {}),
      ...(route.path === '/readyz' ? { 503: { description: 'Rows are not being stored.' } } : {}),
      ...(guarded ? { 503: failed('The store does not answer; try again later.') } : {}),
    },
  })
}

/** What a caller needs, in words. */
export const need = (route: Route): string =>
  route.access === 'admin' ? 'an admin, signed in; API keys are refused' : `the scope ${route.access}`

/** The document that is served at `/api/openapi.json`: every route of the table but the operator's own. */
export function openApi(
  app: Pick<OpenAPIHono, 'openAPIRegistry' | 'getOpenAPI31Document'>,
  routes: readonly Route[],
  version: string,
) {
  for (const route of routes) if (route.access !== 'operator') app.openAPIRegistry.registerPath(describe(route))
  app.openAPIRegistry.registerComponent('securitySchemes', 'api_key', {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key, `svcg_...`, made with `readership keys create`.',
  })
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'readership',
      version,
      description: "Analytics of a site's two readerships, people and agents.",
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [{ url: '/' }],
  })
}
