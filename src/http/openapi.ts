import { z } from 'zod'
import { credentialsOf, isOpen, SIGNATURE, takesKeys } from './auth.js'
import { SESSION } from './cookie.js'
import { ErrorBody } from './error.js'
import type { Example } from './examples.js'
import { failureResponses, failuresOf } from './failures.js'
import {
  type Content,
  type Parameter,
  parametersOf,
  type Reference,
  schemasOfParameters,
  shareParameters,
} from './parameters.js'
import type { Route } from './route.js'
import { FILTERS, type Schema, schemaOf } from './schema.js'

export interface Reply {
  description: string
  headers?: Record<string, { description: string; schema: Schema; example?: unknown }>
  content?: Content
}
export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description: string
  security: Record<string, string[]>[]
  parameters?: (Parameter | Reference)[]
  requestBody?: { required: true; content: Content }
  responses: Record<string, Reply | Reference>
  /** The call that the examples are of. */
  'x-codeSamples'?: { lang: string; source: string }[]
}
export interface Document {
  openapi: '3.1.0'
  info: { title: string; version: string; description: string; license: { name: string; url: string } }
  servers: { url: string; description: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Record<string, Schema>
    parameters: Record<string, Parameter>
    responses: Record<string, Reply>
    securitySchemes: Record<string, object>
  }
}

/** What the groups of routes are about; one that is not here is its own description. */
const TAGS: Record<string, string> = {
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

const NEEDS: Partial<Record<Route['access'], string>> = {
  signed: "a signature by the site's ingest key, or the scope ingest:write",
  person: 'somebody who is signed in; API keys are refused',
  viewer: 'a member, signed in; API keys are refused',
  admin: 'an admin, signed in; API keys are refused',
  owner: 'an owner, signed in; API keys are refused',
}

/** What a caller needs, in words. */
export const need = ({ access }: Pick<Route, 'access'>): string => NEEDS[access] ?? `the scope ${access}`

const said = (failures: NonNullable<Route['failures']>): Record<string, Reply> =>
  Object.fromEntries(Object.entries(failures).map(([status, description]) => [status, { description }]))

const nameOf = (route: Route) =>
  `${route.method}_${route.path.replace(/^\/(api\/)?/, '').replace(/\W+/g, '_')}`.replace(/_$/, '')

/** A call as it is typed, with a key where one is needed. */
const curl = ({ method, access }: Route, { request, body }: Example): string =>
  [
    'curl',
    ...(method === 'get' ? [] : [`-X ${method.toUpperCase()}`]),
    ...(isOpen(access)
      ? []
      : [takesKeys(access) ? '-H "Authorization: Bearer $KEY"' : '-b "service_session=$SESSION"']),
    ...(access === 'signed' ? ['-H "Content-Type: application/json"'] : []),
    ...(body === undefined ? [] : [`-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]),
    `"$SERVICE${request}"`,
  ].join(' ')

/** A route as the document has it: what the table says, what follows from it, and a true call of it. */
function operationOf(
  route: Route,
  call: Example | undefined,
  schemas: Record<string, Schema>,
  ofParameter: ReturnType<typeof schemasOfParameters>,
): Operation {
  const guarded = !isOpen(route.access)
  const example = call?.answer === undefined ? {} : { example: call.answer }
  const content: Content =
    route.data === undefined
      ? { [route.type ?? 'application/json']: { schema: { type: 'string' }, ...example } }
      : {
          'application/json': {
            schema: schemaOf(
              z.object({ data: route.data, ...(route.meta ? { meta: route.meta } : {}) }),
              'output',
              schemas,
            ),
            ...example,
          },
        }
  const body = route.body && {
    schema: schemaOf(route.body, 'input', schemas),
    ...(call?.body ? { example: call.body } : {}),
  }
  const parameters = parametersOf(route, call, ofParameter)
  return {
    operationId: nameOf(route),
    tags: [route.tag],
    summary: route.summary,
    description: guarded ? `Needs ${need(route)}.` : 'Open.',
    security: credentialsOf(route.access).map((kind) => ({ [kind]: [] })),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: true, content: { 'application/json': body } } } : {}),
    responses: {
      [route.status ?? 200]: route.status === 204 ? { description: 'Done.' } : { description: 'The answer.', content },
      ...(route.path === '/readyz' ? { 503: { description: 'Rows are not being stored.', content } } : {}),
      ...(route.failures ? said(route.failures) : failuresOf(route)),
    },
    ...(call ? { 'x-codeSamples': [{ lang: 'Shell', source: curl(route, call) }] } : {}),
  }
}

/** The document that is served at `/api/openapi.json`: every route of the table but the operator's own. */
export function openApi(routes: readonly Route[], version: string, examples: ReadonlyMap<string, Example>): Document {
  const shown = routes.filter((route) => route.access !== 'operator')
  const schemas: Record<string, Schema> = { ...FILTERS }
  schemas.Error = schemaOf(ErrorBody, 'output', schemas)
  const ofParameter = schemasOfParameters(schemas)
  const paths: Document['paths'] = {}
  for (const route of shown)
    paths[route.path] = {
      ...paths[route.path],
      [route.method]: operationOf(route, examples.get(`${route.method} ${route.path}`), schemas, ofParameter),
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
    tags: [...new Set(shown.map(({ tag }) => tag))].map((name) => ({ name, description: TAGS[name] ?? name })),
    components: {
      parameters: shareParameters(Object.values(paths).flatMap((methods) => Object.values(methods))),
      schemas,
      responses: failureResponses(),
      securitySchemes: {
        api_key: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key, `svcg_...`, made with `readership keys create`.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: SESSION,
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
          name: SIGNATURE,
          description:
            "`t=<unix seconds>,v1=<hex>`: HMAC-SHA256, keyed with the site's ingest key, over the digits of t, a period and the bytes of the body. Within five minutes of the server's clock, and once.",
        },
      },
    },
    paths,
  }
}
