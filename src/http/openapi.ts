import { z } from 'zod'
import { acceptsApiKeys, credentialKinds, isUnauthenticated, SIGNATURE_HEADER } from './auth.js'
import { errorComponents, errorReferences } from './documented-errors.js'
import { ErrorBody } from './error-response.js'
import type { Example } from './examples.js'
import { FILTER_SCHEMAS, type JsonSchema, toJsonSchema } from './json-schema.js'
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
  /** The call that the examples are of. */
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

/** What the groups of routes are about; one that is not here is its own description. */
const TAG_DESCRIPTIONS: Record<string, string> = {
  stats: 'What people read, and where a question has both answers, what agents did.',
  agents: 'What agents fetched: crawlers, assistants and all others that are not people.',
  'citation-gap': 'What agents took of each URL, and what came back in people.',
  policy: 'robots.txt and llms.txt as parsed, and who kept to them.',
  content: 'What becomes of each URL over time.',
  sites: 'The sites of this instance.',
  goals: 'What a site wants its visitors to do.',
  funnels: 'Steps that lead to something, in order.',
  segments: 'Saved filters.',
  flags: 'What a site shows to some of its visitors alone.',
  shares: 'Links that show some reads of a site to whoever has them.',
  alerts: 'What is told to webhooks and mailboxes when a number, an agent or a policy changes.',
  reports: 'A week or a month of both readerships, by mail.',
  orgs: 'Who sites belong to, and what was done in it.',
  members: 'Who is in an organisation, and as what.',
  invitations: 'How people come into an organisation.',
  visitors: 'Erasing a person.',
  keys: 'API keys.',
  account: 'Who signs in: accounts, sessions and two-factor sign-in. For browsers; API keys are refused.',
  track: 'What browsers send. No credential: a hit is taken for a hostname of its site.',
  ingest: 'What comes in from elsewhere.',
  service: 'Health and counters of the service itself.',
}

const ACCESS_DESCRIPTIONS: Partial<Record<Route['access'], string>> = {
  signed: "a signature by the site's ingest key, or the scope ingest:write",
  person: 'somebody who is signed in; API keys are refused',
  viewer: 'a member, signed in; API keys are refused',
  admin: 'an admin, signed in; API keys are refused',
  owner: 'an owner, signed in; API keys are refused',
}

/** What a caller needs, in words. */
export const describeAccess = ({ access }: Pick<Route, 'access'>): string =>
  ACCESS_DESCRIPTIONS[access] ?? `the scope ${access}`

const describeResponses = (failures: NonNullable<Route['otherResponses']>): Record<string, ApiResponseObject> =>
  Object.fromEntries(Object.entries(failures).map(([status, description]) => [status, { description }]))

const operationId = (route: Route) =>
  `${route.method}_${route.path.replace(/^\/(api\/)?/, '').replace(/\W+/g, '_')}`.replace(/_$/, '')

/** A call as it is typed, with a key where one is needed. */
const curlCommand = ({ method, access }: Route, { request, body }: Example): string =>
  [
    'curl',
    ...(method === 'get' ? [] : [`-X ${method.toUpperCase()}`]),
    ...(isUnauthenticated(access)
      ? []
      : [acceptsApiKeys(access) ? '-H "Authorization: Bearer $KEY"' : '-b "service_session=$SESSION"']),
    ...(access === 'signed' ? ['-H "Content-Type: application/json"'] : []),
    ...(body === undefined ? [] : [`-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]),
    `"$SERVICE${request}"`,
  ].join(' ')

/** A route as the document has it: what the table says, what follows from it, and a true call of it. */
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
    description: guarded ? `Needs ${describeAccess(route)}.` : 'Open.',
    security: credentialKinds(route.access).map((kind) => ({ [kind]: [] })),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: true, content: { 'application/json': body } } } : {}),
    responses: {
      [route.status ?? 200]: route.status === 204 ? { description: 'Done.' } : { description: 'The answer.', content },
      ...(route.path === '/readyz' ? { 503: { description: 'Rows are not being stored.', content } } : {}),
      ...(route.otherResponses ? describeResponses(route.otherResponses) : errorReferences(route)),
    },
    ...(call ? { 'x-codeSamples': [{ lang: 'Shell', source: curlCommand(route, call) }] } : {}),
  }
}

/** The document that is served at `/api/openapi.json`: every route of the table but the operator's own. */
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
      description: "Analytics of a site's two readerships, people and agents.",
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    // From where the document lies: the service may lie under a base path.
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
          description: 'Set by `POST /api/auth/login`, for browsers: what it writes takes a same-origin proof as well.',
        },
        share: {
          type: 'apiKey',
          in: 'query',
          name: 'share',
          description:
            'The `slug` of a share; where it has a password, the token that `POST /api/share/{slug}/unlock` gives.',
        },
        ingest_signature: {
          type: 'apiKey',
          in: 'header',
          name: SIGNATURE_HEADER,
          description:
            "`t=<unix seconds>,v1=<hex>`: HMAC-SHA256, keyed with the site's ingest key, over the digits of t, a period and the bytes of the body. Within five minutes of the server's clock, and once.",
        },
      },
    },
    paths,
  }
}
