/** The access matrix: the routes that each caller may use, written from the specification, independently of the code. */

/** 'in': the caller is let in, and the route gives its own answer. */
type Verdict = 'in' | 401 | 403 | 404

/**
 * The status for each caller, by kind of route. All requests are about organisation 1 and its site 1.
 *
 * - `open`: credentials are ignored. `sign_in`: none is needed; a valid API key is refused with 403, an invalid one with 401.
 * - `read`: an analytics read, which a share opens if its scopes include it. `narrow`: the share with few scopes opens it
 *   too; `unshared`: no share opens it; `free`: it is about no site.
 * - `list`, `manage`: management GETs of everything that the caller reaches, and of one site; `write`: management writes.
 * - `account`: about the signed-in person; `mine`: the same, and the operator sees everybody's.
 * - `seen`, `admin`, `owner`: by role, for signed-in people only.
 * - `signed`: by the site's ingest key, or an API key with the scope; a session is not accepted.
 */
const ACCESS_TABLE = `
caller            open sign_in read narrow unshared free list manage write account mine seen admin owner signed
none              in   in      401  401    401      401  401  401    401   401     401  401  401   401   401
basic             in   in      401  401    401      401  401  401    401   401     401  401  401   401   401
operator          in   in      in   in     in       in   in   in     in    401     in   in   in    in    in
owner             in   in      in   in     in       in   in   in     in    in      in   in   in    in    401
admin             in   in      in   in     in       in   in   in     in    in      in   in   in    403   401
member            in   in      in   in     in       in   in   in     in    in      in   in   403   403   401
viewer            in   in      in   in     in       in   in   in     403   in      in   in   403   403   401
stranger          in   in      404  404    404      in   in   404    404   in      in   404  404   404   401
tampered_session  in   in      401  401    401      401  401  401    401   401     401  401  401   401   401
key_stats         in   403     in   in     in       in   403  403    403   403     403  403  403   403   403
key_manage_read   in   403     403  403    403      403  in   in     403   403     403  403  403   403   403
key_manage_write  in   403     403  403    403      403  403  403    in    403     403  403  403   403   403
key_ingest        in   403     403  403    403      403  403  403    403   403     403  403  403   403   in
key_all           in   403     in   in     in       in   in   in     in    403     403  403  403   403   in
key_bound         in   403     404  404    404      in   in   404    404   403     403  403  403   403   404
key_foreign       in   403     404  404    404      in   in   404    404   403     403  403  403   403   404
key_expired       in   401     401  401    401      401  401  401    401   401     401  401  401   401   401
key_revoked       in   401     401  401    401      401  401  401    401   401     401  401  401   401   401
key_tampered      in   401     401  401    401      401  401  401    401   401     401  401  401   401   401
key_unknown       in   401     401  401    401      401  401  401    401   401     401  401  401   401   401
share             in   in      in   in     403      in   403  403    403   403     403  403  403   403   403
share_narrow      in   in      403  in     403      in   403  403    403   403     403  403  403   403   403
share_unlocked    in   in      in   in     403      in   403  403    403   403     403  403  403   403   403
share_locked      in   in      401  401    401      401  401  401    401   401     401  401  401   401   401
share_expired     in   in      401  401    401      401  401  401    401   401     401  401  401   401   401
share_tampered    in   in      401  401    401      401  401  401    401   401     401  401  401   401   401
signature         in   in      401  401    401      401  401  401    401   401     401  401  401   401   in
signature_wrong   in   in      401  401    401      401  401  401    401   401     401  401  401   401   401
`

export type Caller = string
type Kind = string

const [[, ...routeKinds] = [], ...lines] = ACCESS_TABLE.trim()
  .split('\n')
  .map((line) => line.trim().split(/ +/))
const verdictOf = (word: string | undefined): Verdict => {
  if (word === 'in') return word
  if (word === '401') return 401
  if (word === '403') return 403
  if (word === '404') return 404
  throw new Error(`no verdict: ${word}`)
}
const verdicts = new Map(
  lines.map(([caller = '', ...words]) => [caller, new Map(routeKinds.map((kind, i) => [kind, verdictOf(words[i])]))]),
)

/** The callers, in the order of the table. */
export const CALLERS: readonly Caller[] = [...verdicts.keys()]

/** The verdict of the table for a caller and a kind of route. */
export function verdict(kind: Kind, caller: Caller): Verdict {
  const found = verdicts.get(caller)?.get(kind)
  if (found === undefined) throw new Error(`${caller} or ${kind} is not in the table`)
  return found
}

/** One route: its kind, and its answers to callers that are let in. */
export interface Row {
  readonly kind: Kind
  readonly answers: readonly number[]
  /** The path, if not that of the recorded example: a target that exists until it is deleted, and that no other row needs. */
  readonly asks?: string
  /** The body, if not that of the recorded example: one that does no harm to later rows. */
  readonly body?: object
  /** The route ends sessions: it comes last, and each caller has a session for it alone. */
  readonly ends?: true
}

const row = (kind: Kind, answers: number | readonly number[], more: Omit<Row, 'kind' | 'answers'> = {}): Row => ({
  ...{ kind, answers: typeof answers === 'number' ? [answers] : answers },
  ...more,
})
const read = row('read', 200)
/** Creates a record; for the second caller that is let in, it exists already. */
const made = (kind: Kind, more: Omit<Row, 'kind' | 'answers'> = {}) => row(kind, [201, 409], more)
/** Deletes a record; for the second caller that is let in, it is gone. */
const gone = (kind: Kind, asks: string) => row(kind, [204, 404], { asks })
/** The routes of one kind of record of a site: members, and keys with the scopes, read and write it. */
const kept = (name: string): [string, Row][] => [
  [`get /api/${name}`, row('manage', 200)],
  [`post /api/${name}`, made('write')],
  [`get /api/${name}/{id}`, row('manage', 200)],
  [`patch /api/${name}/{id}`, row('write', 200, { body: {} })],
  [`delete /api/${name}/{id}`, gone('write', `/api/${name}/1`)],
]
/** An empty body: it changes nothing, or lacks fields, which only callers that are let in find out. */
const EMPTY = { body: {} }

/** Every route of the service except the operator's. */
export const ROWS: ReadonlyMap<string, Row> = new Map<string, Row>([
  ...[
    'overview',
    'timeseries',
    'pages',
    'sources',
    'locations',
    'devices',
    'breakdown',
    'events',
    'goals',
    'journeys/steps',
  ]
    .concat([
      'changes',
      'hours',
      'funnel/{id}',
      'journeys',
      'retention',
      'performance',
      'errors',
      'export.csv',
      'export.pdf',
    ])
    .map((name): [string, Row] => [`get /api/stats/${name}`, read]),
  ['get /api/stats/realtime', row('narrow', 200)],
  ['get /api/stats/realtime/stream', row('narrow', 200)],
  ['get /api/stats/dimensions', row('free', 200)],
  ...['sessions', 'sessions/{id}', 'visitors', 'suspected'].map((name): [string, Row] => [
    `get /api/stats/${name}`,
    row('unshared', 200),
  ]),
  ...['agents/overview', 'agents/breakdown', 'agents/timeseries', 'agents/coverage', 'agents/catalog', 'citation-gap']
    .concat([
      'citation-gap/summary',
      'answers',
      'answers/summary',
      'agents/formats',
      'agents/llms-links',
      'policy',
      'policy/violations',
      'policy/violations/agents',
    ])
    .concat(['editions', 'editions/summary'])
    .concat([
      'policy/violations/pages',
      'policy/violations/rules',
      'policy/versions',
      'content/decay',
      'phantom-links',
      'blank-pages',
    ])
    .map((name): [string, Row] => [`get /api/${name}`, read]),

  ['get /api/bill', row('unshared', 200)],
  ['post /api/policy/rehearsal', row('unshared', 200, { body: { site: 1, text: '' } })],
  ['get /api/policy/presets', row('manage', 200)],
  ['get /api/evidence', row('manage', 200)],
  ['post /api/evidence', row('write', 200)],
  ['post /api/evidence/pdf', row('write', 422, { asks: '/api/evidence/pdf?site=1' })],
  // There is a key when the first folder was made.
  ['get /api/evidence/key', row('open', [200, 404])],
  ['get /api/robots-texts', row('manage', 200)],
  ['post /api/robots-texts', row('admin', 201, { body: { site: 1, text: '', disallow_search_engines: true } })],
  ['delete /api/robots-texts', row('admin', 204, { asks: '/api/robots-texts?site=1' })],

  // A malformed payload is dropped, and gets the same answer.
  ['post /api/track', row('open', 204)],
  ['post /api/track/batch', row('open', 204)],
  ['get /api/track/pixel.gif', row('open', 200)],
  ['post /api/log/edge', row('signed', 202, { body: { site_id: 1, agent_events: [], events: [] } })],

  ['get /api/edge/rules', row('signed', 200)],

  ['get /api/sites', row('list', 200)],
  ['post /api/sites', made('admin', { body: { org: 1, name: 'Matrix', domains: ['matrix.example'] } })],
  ['get /api/sites/{id}', row('manage', 200)],
  ['patch /api/sites/{id}', row('admin', 200, EMPTY)],
  ['delete /api/sites/{id}', gone('admin', '/api/sites/4')],
  ['get /api/sites/{id}/drops', row('manage', 200)],
  ['get /api/sites/{id}/indexnow', row('manage', 200)],
  ['get /api/sites/{id}/refused-hostnames', row('manage', 200)],
  ['get /api/sites/{id}/sections', row('manage', 200)],
  ['get /api/imports', row('admin', 200)],
  ['post /api/imports', row('admin', 422, { asks: '/api/imports?site=1&tz=nowhere' })],
  ['get /api/imports/{id}', row('admin', 404)],
  ['delete /api/imports/{id}', row('admin', 404)],
  ['get /api/sites/{id}/history', row('manage', 200)],
  ['post /api/sites/{id}/history', made('admin')],
  ['delete /api/sites/{id}/history/{history}', gone('admin', '/api/sites/1/history/1')],
  ['get /api/sites/{id}/ingest-key', row('admin', 200)],
  ['post /api/sites/{id}/ingest-key/rotate', row('admin', 200)],

  ...kept('goals'),
  ...kept('funnels'),
  ...kept('segments'),
  ...kept('annotations'),
  ['get /api/rules', row('manage', 200)],
  ['post /api/rules', made('admin')],
  ['get /api/rules/state', row('manage', 200)],
  ['get /api/rules/export', row('manage', 200)],
  ['post /api/rules/pause', row('admin', 200)],
  ['post /api/rules/resume', row('admin', 200)],
  ['get /api/rules/{id}', row('manage', 200)],
  ['patch /api/rules/{id}', row('admin', 200, EMPTY)],
  ['delete /api/rules/{id}', gone('admin', '/api/rules/1')],
  ...kept('flags'),
  ...kept('alerts'),
  ...kept('reports'),
  // Tests are rate limited, and all callers ask within one minute.
  ['post /api/alerts/{id}/test', row('write', [202, 429])],
  ['get /api/alerts/{id}/deliveries', row('manage', 200)],
  ['post /api/alerts/{id}/rotate-secret', row('admin', 200)],
  ['get /api/reports/{id}/deliveries', row('manage', 200)],
  ['post /api/reports/{id}/test', row('write', [202, 429])],
  ['get /api/flags/evaluate', row('open', 200)],
  // Each part is authorised as the request that it stands for.
  ['post /api/rules/rehearsal', row('unshared', 200)],
  ['post /api/batch', row('open', 200, { body: { requests: ['/api/sites'] } })],

  // API keys do not manage share links.
  ['get /api/shares', row('admin', 200)],
  ['post /api/shares', made('admin')],
  ['get /api/shares/{id}', row('admin', 200)],
  ['patch /api/shares/{id}', row('admin', 200, EMPTY)],
  ['delete /api/shares/{id}', gone('admin', '/api/shares/1')],
  ['get /api/share/{slug}', row('open', 404, { asks: '/api/share/none' })],
  ['get /api/share/{slug}/badge.svg', row('open', 404, { asks: '/api/share/none/badge.svg' })],
  ['post /api/share/{slug}/unlock', row('open', 404, { asks: '/api/share/none/unlock', body: { password: 'x' } })],

  ['get /api/redirects', row('manage', 200)],
  ['get /api/redirects/export', row('manage', 200)],
  ['post /api/redirects', made('admin')],
  ['get /api/redirects/{id}', row('manage', 200)],
  ['patch /api/redirects/{id}', row('admin', 200, EMPTY)],
  ['delete /api/redirects/{id}', gone('admin', '/api/redirects/1')],

  ['get /api/keys', row('admin', 200)],
  ['post /api/keys', made('admin')],
  ['delete /api/keys/{id}', gone('admin', '/api/keys/1')],
  ['get /api/keys/{id}/usage', row('admin', 200)],

  ['get /api/orgs', row('mine', 200)],
  ['post /api/orgs', made('mine')],
  ['get /api/orgs/{id}', row('seen', 200)],
  ['patch /api/orgs/{id}', row('admin', 200, EMPTY)],
  // The deletion takes seven days; the organisation exists until then.
  ['delete /api/orgs/{id}', row('owner', [204, 409], { asks: '/api/orgs/1' })],
  ['post /api/orgs/{id}/restore', row('owner', [200, 409])],
  // The member to transfer to does not exist.
  ['post /api/orgs/{id}/transfer', row('owner', 404, { body: { user: 999 } })],
  ['get /api/orgs/{id}/audit', row('admin', 200)],
  ['get /api/orgs/{id}/members', row('seen', 200)],
  [
    'patch /api/orgs/{id}/members/{user}',
    row('admin', 200, { asks: '/api/orgs/1/members/99', body: { role: 'viewer' } }),
  ],
  ['delete /api/orgs/{id}/members/{user}', gone('admin', '/api/orgs/1/members/99')],
  ['get /api/orgs/{id}/invitations', row('admin', 200)],
  ['post /api/orgs/{id}/invitations', made('admin')],
  ['delete /api/orgs/{id}/invitations/{invitation}', gone('admin', '/api/orgs/1/invitations/1')],
  // The token belongs to no invitation.
  ['post /api/invitations/accept', row('account', 404, { body: { token: 'none' } })],

  ...['login', 'register', 'forgot-password', 'reset-password', 'confirm-email', 'link'].map((name): [string, Row] => [
    `post /api/auth/${name}`,
    row('sign_in', 422, EMPTY),
  ]),
  ...['sign-in', 'register', 'reset-password', 'confirm-email'].flatMap((name): [string, Row][] => [
    [`get /${name}`, row('sign_in', 200)],
    [`post /${name}`, row('sign_in', 422, EMPTY)],
  ]),
  // No token is sent.
  ['get /invitation', row('sign_in', 404)],
  ['post /invitation', row('sign_in', [401, 403, 404], EMPTY)],
  ['get /api/auth/me', row('account', 200)],
  ['patch /api/auth/me', row('account', 200, EMPTY)],
  // The code is malformed, otherwise the account would be deleted.
  ['delete /api/auth/me', row('account', 422, { body: { totp: 0 } })],
  ['get /api/auth/sessions', row('account', 200)],
  ['delete /api/auth/sessions/{id}', row('account', 404, { asks: '/api/auth/sessions/999999' })],
  ['post /api/auth/logout', row('account', 204, { ends: true })],
  ['delete /api/auth/sessions', row('account', 204, { ends: true })],
  ...['change-password', 'change-email', 'totp/confirm'].map((name): [string, Row] => [
    `post /api/auth/${name}`,
    row('account', 422, EMPTY),
  ]),
  // Accounts of this matrix have no password, so none is needed.
  ['post /api/auth/totp/enroll', row('account', 200, EMPTY)],
  // Two-factor sign-in is off.
  ...['totp/disable', 'totp/recovery-codes'].map((name): [string, Row] => [
    `post /api/auth/${name}`,
    row('account', 409, EMPTY),
  ]),

  ['delete /api/visitors/{id}', row('admin', 404, { asks: '/api/visitors/00000000000000ff?site=1' })],

  ['get /healthz', row('open', 200)],
  ['get /readyz', row('open', 200)],
  ['get /metrics', row('open', 200)],
])
