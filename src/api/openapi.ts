import { z } from 'zod'
import { acceptsApiKeys, credentialKinds, isUnauthenticated, SIGNATURE_HEADER } from './auth.js'
import { errorComponents, errorReferences } from './documented-errors.js'
import { ErrorBody } from './error-response.js'
import type { Example } from './examples.js'
import { componentRef, FILTER_SCHEMAS, type JsonSchema, toJsonSchema } from './json-schema.js'
import {
  type Content,
  createParameterSchemas,
  describeParameters,
  type Parameter,
  type Reference,
  shareParameters,
} from './openapi-parameters.js'
import type { Route } from './route.js'
import { SESSION_COOKIE } from './session-cookie.js'

export interface ApiResponseObject {
  description: string
  headers?: Record<string, { description: string; schema: JsonSchema; example?: unknown }>
  content?: Content
}
export interface ApiOperation {
  operationId: string
  tags: string[]
  summary: string
  description: string
  security: Record<string, string[]>[]
  parameters?: (Parameter | Reference)[]
  requestBody?: { required: true; content: Content }
  responses: Record<string, ApiResponseObject | Reference>
  /** The call that the examples were recorded with. */
  'x-codeSamples'?: { lang: string; source: string }[]
}
export interface OpenApiDocument {
  openapi: '3.1.0'
  info: { title: string; version: string; description: string; license: { name: string; url: string } }
  servers: { url: string; description: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, ApiOperation>>
  components: {
    schemas: Record<string, JsonSchema>
    parameters: Record<string, Parameter>
    responses: Record<string, ApiResponseObject>
    securitySchemes: Record<string, object>
  }
}

/** Descriptions of the groups of routes. */
const TAG_DESCRIPTIONS: Record<string, string> = {
  stats: 'What people did on the site and, where the audience allows it, what agents did.',
  agents: 'Fetches of agents: crawlers, AI assistants and other automated clients.',
  'citation-gap': 'How often agents fetched each URL, and how many visitors AI assistants sent back.',
  answers: "Pages that assistants fetched to answer a person, and the operator's readers who followed.",
  policy: 'robots.txt and llms.txt as parsed, and agents that violated them.',
  content: 'How the readership of each URL changes over time.',
  editions: 'When sampled pages changed, and which agents have read them since.',
  'blank-pages': 'Pages that programs find empty, refused or replaced by a notice.',
  'phantom-links': 'Addresses that people and assistants asked for and that do not exist.',
  bill: 'What the fetches of each operator took and cost, beside the readers that it sent.',
  redirects: 'Where readers of missing pages are sent, while the origin answers 404 or 410.',
  sites: 'The sites of this instance.',
  rules: 'Rules for agents, and what they would have done.',
  evidence: 'Signed folders: the rules about an agent, and its fetches.',
  goals: 'Pages and events that count as conversions.',
  funnels: 'Steps that visitors take in order.',
  segments: 'Saved filters.',
  annotations: 'Notes on the time line, written by people and by readership itself.',
  imports: 'History from access logs, as if it had been recorded as it happened.',
  flags: 'Feature flags for a share of the visitors.',
  shares: 'Links that open some reads of a site without an account.',
  alerts: 'Webhooks and mails when a metric, an agent or a policy changes.',
  reports: 'Weekly and monthly mails about people and agents.',
  orgs: 'Organisations, which own sites, and their audit logs.',
  members: 'Members of an organisation and their roles.',
  invitations: 'Invitations to an organisation.',
  visitors: 'Erasure of a person.',
  keys: 'API keys.',
  account: 'Accounts, sign-in sessions and two-factor sign-in. For browsers; API keys are rejected.',
  track: 'Hits of browsers. Needs no credential: a hit is accepted only for a hostname of its site.',
  ingest: 'Rows of other servers.',
  batch: 'Several GET requests in one.',
  service: 'Health and metrics of the service itself.',
}

const ACCESS_DESCRIPTIONS: Partial<Record<Route['access'], string>> = {
  signed: "a signature with the site's ingest key, or the scope ingest:write",
  person: 'a signed-in person; API keys are rejected',
  viewer: 'a signed-in member; API keys are rejected',
  admin: 'a signed-in admin; API keys are rejected',
  owner: 'a signed-in owner; API keys are rejected',
}

/** Describes what a caller needs. */
const describeAccess = ({ access }: Pick<Route, 'access'>): string =>
  ACCESS_DESCRIPTIONS[access] ?? `the scope ${access}`

/** Describes the responses that an entry lists. Pages are HTML whatever happens, and tracking endpoints send no body. */
function describeResponses(route: Route, listed: NonNullable<Route['otherResponses']>) {
  const hasErrorBody = !('direct' in route) && route.contentType !== 'text/html'
  const content = { 'application/json': { schema: componentRef('schemas', 'Error') } }
  return Object.fromEntries(
    Object.entries(listed).map(([status, description]): [string, ApiResponseObject] => [
      status,
      { description, ...(hasErrorBody && Number(status) >= 400 ? { content } : {}) },
    ]),
  )
}

const operationId = (route: Route) =>
  `${route.method}_${route.path.replace(/^\/(api\/)?/, '').replace(/\W+/g, '_')}`.replace(/_$/, '')

/** Returns a call as a shell command, with a key if one is needed. */
const curlCommand = ({ method, access, fileBody }: Route, { request, body }: Example): string =>
  [
    'curl',
    ...(method === 'get' ? [] : [`-X ${method.toUpperCase()}`]),
    ...(isUnauthenticated(access)
      ? []
      : [acceptsApiKeys(access) ? '-H "Authorization: Bearer $KEY"' : '-b "service_session=$SESSION"']),
    // A session counts only for requests of the service's own pages.
    ...(method === 'get' || isUnauthenticated(access) || acceptsApiKeys(access) ? [] : ['-H "Origin: $SERVICE"']),
    ...(access === 'signed' ? ['-H "Content-Type: application/json"'] : []),
    ...(fileBody ? ['--data-binary @access.log'] : []),
    ...(body === undefined ? [] : [`-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]),
    `"$SERVICE${request}"`,
  ].join(' ')

/** Describes a route by the route table and a recorded call. */
function describeOperation(
  route: Route,
  call: Example | undefined,
  schemas: Record<string, JsonSchema>,
  ofParameter: ReturnType<typeof createParameterSchemas>,
): ApiOperation {
  const guarded = !isUnauthenticated(route.access)
  const example = call?.answer === undefined ? {} : { example: call.answer }
  const content: Content =
    route.data === undefined
      ? { [route.contentType ?? 'application/json']: { schema: { type: 'string' }, ...example } }
      : {
          'application/json': {
            schema: toJsonSchema(
              z.object({ data: route.data, ...(route.meta ? { meta: route.meta } : {}) }),
              'output',
              schemas,
            ),
            ...example,
          },
        }
  const body = route.body && {
    schema: toJsonSchema(route.body, 'input', schemas),
    ...(call?.body ? { example: call.body } : {}),
  }
  const parameters = describeParameters(route, call, ofParameter)
  return {
    operationId: operationId(route),
    tags: [route.tag],
    summary: route.summary,
    description: guarded ? `Requires ${describeAccess(route)}.` : 'Open to anyone.',
    security: credentialKinds(route.access).map((kind) => ({ [kind]: [] })),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: true, content: { 'application/json': body } } } : {}),
    ...(route.fileBody && {
      requestBody: {
        required: true,
        content: {
          [route.fileBody.type]: { schema: { type: 'string', format: 'binary' }, example: route.fileBody.example },
        },
      },
    }),
    responses: {
      [route.status ?? 200]: route.status === 204 ? { description: 'Done.' } : { description: 'Success.', content },
      ...(route.path === '/readyz' ? { 503: { description: 'Rows cannot be stored at the moment.', content } } : {}),
      ...(route.otherResponses ? describeResponses(route, route.otherResponses) : errorReferences(route)),
    },
    ...(call ? { 'x-codeSamples': [{ lang: 'Shell', source: curlCommand(route, call) }] } : {}),
  }
}

/** Creates the document that is served at `/api/openapi.json`: every route except the operator's. */
export function createOpenApiDocument(
  routes: readonly Route[],
  version: string,
  examples: ReadonlyMap<string, Example>,
): OpenApiDocument {
  const shown = routes.filter((route) => route.access !== 'operator')
  const schemas: Record<string, JsonSchema> = { ...FILTER_SCHEMAS }
  schemas.Error = toJsonSchema(ErrorBody, 'output', schemas)
  const ofParameter = createParameterSchemas(schemas)
  const paths: OpenApiDocument['paths'] = {}
  for (const route of shown)
    paths[route.path] = {
      ...paths[route.path],
      [route.method]: describeOperation(route, examples.get(`${route.method} ${route.path}`), schemas, ofParameter),
    }
  return {
    openapi: '3.1.0',
    info: {
      title: 'readership',
      version,
      description: 'Web analytics that counts people and AI agents separately.',
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    // Relative to the document's URL, because the service may be served under a base path.
    servers: [{ url: '..', description: 'This service.' }],
    tags: [...new Set(shown.map(({ tag }) => tag))].map((name) => ({
      name,
      description: TAG_DESCRIPTIONS[name] ?? name,
    })),
    components: {
      parameters: shareParameters(Object.values(paths).flatMap((methods) => Object.values(methods))),
      schemas,
      responses: errorComponents(),
      securitySchemes: {
        api_key: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key, `svcg_...`, made with `readership keys create`.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: SESSION_COOKIE,
          description:
            'Set by `POST /api/auth/login`, for browsers. Requests that change something must also be proven same-origin.',
        },
        share: {
          type: 'apiKey',
          in: 'query',
          name: 'share',
          description:
            'The `slug` of a share link; for one with a password, the token that `POST /api/share/{slug}/unlock` returns.',
        },
        ingest_signature: {
          type: 'apiKey',
          in: 'header',
          name: SIGNATURE_HEADER,
          description:
            "`t=<unix seconds>,v1=<hex>`: HMAC-SHA256, keyed with the site's ingest key, of the digits of t, a period and the bytes of the body. `t` must be within five minutes of the server's clock, and each signature is accepted once.",
        },
      },
    },
    paths,
  }
}
