import { z } from 'zod'
import { AUDIENCES, quote } from '../analytics/query/dimensions.js'
import { type Filter, parseFilters } from '../analytics/query/filters.js'
import { requireMetric } from '../analytics/query/metrics.js'
import { ApiError } from '../base/errors.js'
import { sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { Channel, isSameChannel, StoredChannel } from './channels.js'
import { createCollection } from './collection.js'
import {
  FiltersColumn,
  FiltersInput,
  FiltersOutput,
  JsonText,
  Name,
  omitNulls,
  recordFields,
  SiteId,
} from './fields.js'

export const ALERT_KINDS = [
  'threshold',
  'change',
  'new_agent',
  'unverified_agent',
  'policy_violation',
  'policy_changed',
  'agent_errors',
  'budget',
  'old_edition',
] as const
/** Days after which a page should have been read again. */
const DEFAULT_EDITION_DAYS = 7
/** The numbers that an alert of kind `budget` may compare. */
const BUDGET_METRICS: readonly string[] = ['cost', 'bytes']
export const ALERT_OPERATORS = ['gt', 'gte', 'lt', 'lte'] as const

const Kind = z
  .enum(ALERT_KINDS)
  .describe(
    "The kind says which number of the window is compared with `value`. `threshold`: the metric. `change`: its relative change against the window before (-0.3 is a fall of 30 %). `new_agent`: agents never seen before, of the catalogue or verified, without spoofed claims. `unverified_agent`: fetches with a spoofed claim. `policy_violation`: fetches that robots.txt disallowed, without those in `grace`. `policy_changed`: new versions of robots.txt and llms.txt. `agent_errors`: agent fetches with a status of 400 or more. `budget`: what agents' fetches cost at the site's prices, or their bytes; with filters without fetches that only claim a name. `old_edition`: days since a page changed whose readers in the window came from an operator of which no search or assistant agent has read it since; the most of any page. Filters are on `hostname` and `pathname` only.",
  )
const Op = z.enum(ALERT_OPERATORS)
const Minutes = z
  .int()
  .min(5)
  .max(44_640)
  .describe(
    'Length of the window. It ends a minute before the last full minute, when its rows are stored. If more than 1 % of it was not recorded (readership was down or lost rows), only a count above `value` is trusted: more rows could not change it.',
  )
const Filters = FiltersInput.describe('As in the query parameter `filters`.')
const Metric = z
  .string()
  .describe(
    'A metric of the audience for `threshold` and `change`; `cost` (default) or `bytes` for `budget`. Without a price there is no `cost`, and the alert does not fire.',
  )
const Channels = z
  .array(Channel)
  .min(1, 'An alert needs at least one channel.')
  .max(10, 'An alert has at most 10 channels.')
const Value = z
  .number()
  .describe(
    'The limit. Default `gte` 1 for kinds other than `threshold`, `change` and `budget`; `budget` has the default `gt` alone. `old_edition`: `gte` 7.',
  )

const alertFields = {
  name: Name,
  kind: Kind,
  audience: z.enum(AUDIENCES).optional().describe('Default human; always agent for kinds about agents.'),
  filters: Filters.default([]),
  op: Op.optional(),
  value: Value.optional(),
  window_minutes: Minutes.default(60),
  channels: Channels,
  enabled: z.boolean().default(true),
}

/** An alert as the API shows it. */
export const Alert = z.object({
  ...recordFields,
  name: Name,
  kind: Kind,
  metric: Metric.optional(),
  audience: z.enum(AUDIENCES),
  filters: FiltersOutput,
  op: Op,
  value: Value,
  window_minutes: Minutes,
  channels: z.array(StoredChannel),
  enabled: z.boolean(),
  last_fired_at: z.iso.datetime().optional(),
})
export type Alert = Omit<z.infer<typeof Alert>, 'id' | 'version' | 'filters' | 'name'> & {
  readonly name: string
  readonly filters: readonly Filter[]
}

/** The body of `POST /api/alerts`, before `normaliseAlert`. */
export const NewAlert = z.strictObject({ site: SiteId, ...alertFields, metric: Metric.optional() })
/** The body of `PATCH /api/alerts/{id}`; null removes a field. */
export const AlertChange = z
  .strictObject({
    ...alertFields,
    metric: Metric.nullable(),
    audience: alertFields.audience.nullable(),
    op: Op.nullable(),
    value: Value.nullable(),
    filters: Filters,
    window_minutes: Minutes,
    enabled: z.boolean(),
  })
  .partial()

/** The secret that `POST /api/alerts` and a rotation return beside the alert. */
export const AlertSecret = z
  .string()
  .describe("Signs the alert's webhooks (`x-service-signature`, as for ingest); shown only here.")

const fieldError = (message: string, field: string) => new ApiError('validation_error', message, field)

const isAboutPages = (filter: Filter): boolean =>
  'dimension' in filter && (filter.dimension === 'hostname' || filter.dimension === 'pathname')

/** Returns the alert in canonical names. Throws `validation_error` with the field if its parts do not fit together. */
export function normaliseAlert({ metric, audience: requested, op, value, ...rest }: z.infer<typeof NewAlert>): Alert {
  const { kind, channels } = rest
  const filters = parseFilters(rest.filters)
  const duplicate = channels.findIndex((one, i) => channels.slice(0, i).some((other) => isSameChannel(one, other)))
  if (duplicate >= 0) throw fieldError('This channel is listed twice.', `channels[${duplicate}]`)
  if (kind === 'threshold' || kind === 'change') {
    const audience = requested ?? 'human'
    if (metric === undefined) throw fieldError(`An alert of kind ${kind} needs a metric.`, 'metric')
    if (op === undefined) throw fieldError(`An alert of kind ${kind} needs an op.`, 'op')
    if (value === undefined) throw fieldError(`An alert of kind ${kind} needs a value.`, 'value')
    return { ...rest, filters, audience, metric: requireMetric(audience, metric), op, value }
  }
  if (kind === 'budget') {
    if (requested !== undefined && requested !== 'agent')
      throw fieldError('An alert of kind budget needs the audience agent.', 'audience')
    if (metric !== undefined && !BUDGET_METRICS.includes(metric))
      throw fieldError('An alert of kind budget compares the metric cost or bytes.', 'metric')
    if (value === undefined) throw fieldError('An alert of kind budget needs a value.', 'value')
    return { ...rest, filters, audience: 'agent', metric: metric ?? 'cost', op: op ?? 'gt', value }
  }
  if (metric !== undefined) throw fieldError(`An alert of kind ${kind} takes no metric (${quote(metric)}).`, 'metric')
  if (requested !== undefined && requested !== 'agent')
    throw fieldError(`An alert of kind ${kind} needs the audience agent.`, 'audience')
  if (kind === 'policy_changed' && filters.length > 0)
    throw fieldError('An alert of kind policy_changed takes no filters.', 'filters')
  // A filter on agents would make readers of other operators wait for agents that it leaves out.
  if (kind === 'old_edition' && !filters.every(isAboutPages))
    throw fieldError('An alert of kind old_edition takes filters on hostname and pathname only.', 'filters')
  const fallback = kind === 'old_edition' ? DEFAULT_EDITION_DAYS : 1
  return { ...rest, filters, audience: 'agent', op: op ?? 'gte', value: value ?? fallback }
}

const StoredAlert = z
  .object({
    ...Alert.shape,
    metric: z.string().nullable(),
    filters: FiltersColumn,
    channels: JsonText.pipe(z.array(StoredChannel)),
    last_fired_at: z
      .date()
      .transform((at) => at.toISOString())
      .nullable(),
  })
  .transform(omitNulls)

const SecretRows = z.array(z.object({ secret: z.string() }))

export type Alerts = ReturnType<typeof createAlerts>

/** The alerts of all sites; `random(n)` gives n random bytes. */
export function createAlerts({ records, random }: { records: Records; random(bytes: number): Buffer }) {
  const createSecret = () => `svcw_${random(32).toString('base64url')}`
  const alerts = createCollection<Alert>(records, {
    table: 'alerts',
    label: 'alert',
    maxPerSite: 100,
    stored: StoredAlert,
    columns: ['kind', 'metric', 'audience', 'filters', 'op', 'value', 'window_minutes', 'channels', 'enabled'],
    initialColumns: () => ({ secret: createSecret(), state: '{}' }),
  })
  return {
    ...alerts,
    /** Returns the secret that signs the alert's webhooks. Throws `not_found`. */
    async secret(id: number): Promise<string> {
      const [row] = SecretRows.parse(await records.query(sql`select secret from alerts where id = ${id}`))
      if (!row) throw new ApiError('not_found', 'There is no such alert.')
      return row.secret
    },
    /** Replaces the secret at once and returns the new one. Throws `not_found`. */
    async rotateSecret(id: number, audit: AuditContext): Promise<string> {
      const { site, name } = await alerts.get(id)
      const secret = createSecret()
      await records.write(
        sql`update alerts set secret = ${secret} where id = ${id}`,
        ...auditStatements(audit, { action: 'rotate', object: 'alert', id, details: { site, name } }),
      )
      return secret
    },
  }
}
