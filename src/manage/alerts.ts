import { z } from 'zod'
import { ApiError } from '../errors.js'
import { AUDIENCES, quote } from '../query/dimensions.js'
import { type Filter, parseFilters } from '../query/filters.js'
import { findMetric } from '../query/metrics.js'
import { sql } from '../sql.js'
import type { Records } from '../store.js'
import { type AuditContext, auditStatements } from './audit.js'
import { Channel, isSameChannel, StoredChannel } from './channels.js'
import { type Collection, createCollection, JsonText, Name, SiteId, Version } from './collection.js'

export const ALERT_KINDS = [
  'threshold',
  'change',
  'new_agent',
  'unverified_agent',
  'policy_violation',
  'policy_changed',
  'agent_errors',
] as const
export type AlertKind = (typeof ALERT_KINDS)[number]
const OPS = ['gt', 'gte', 'lt', 'lte'] as const

const Kind = z
  .enum(ALERT_KINDS)
  .describe(
    'What `value` is compared with. `threshold`: the metric over the window; `change`: its relative change against the window before (-0.3: a fall of 30 %). Of agents, in the window: `new_agent`: those never seen before it, spoofed claims apart; `unverified_agent`: fetches whose claim was spoofed; `policy_violation`: fetches that robots.txt disallowed, those in `grace` apart; `policy_changed`: new versions of robots.txt and llms.txt; `agent_errors`: fetches answered 400 or more.',
  )
const Op = z.enum(OPS)
const Minutes = z
  .int()
  .min(5)
  .max(44_640)
  .describe(
    'Length of the window, which ends a minute before the last full one: by then its rows are stored. Where more than a hundredth of it was not recorded (readership did not run, or rows were lost), the alert fires or ends by what more rows could not change alone: a count that is over its value.',
  )
const Filters = z
  .union([z.array(z.unknown()), z.record(z.string(), z.unknown())])
  .describe('As the parameter `filters` takes them.')
const Metric = z.string().describe('Of the audience; `threshold` and `change` alone have one.')
const Channels = z.array(Channel).min(1, 'An alert needs a channel.').max(10, 'An alert has at most 10 channels.')
const Value = z.number().describe('`gte` 1 where an alert that counts agents or what they did gives neither.')

const alertFields = {
  name: Name,
  kind: Kind,
  audience: z.enum(AUDIENCES).optional().describe('Default human; of what is about agents always agent.'),
  filters: Filters.default([]),
  op: Op.optional(),
  value: Value.optional(),
  window_minutes: Minutes.default(60),
  channels: Channels,
  enabled: z.boolean().default(true),
}

/** An alert as the API shows it (contract 7). */
export const Alert = z.object({
  ...{ id: z.int(), version: Version, site: z.int(), name: Name, kind: Kind, metric: Metric.optional() },
  audience: z.enum(AUDIENCES),
  filters: z.array(z.record(z.string(), z.unknown())).describe('In canonical names.'),
  ...{ op: Op, value: Value, window_minutes: Minutes },
  ...{ channels: z.array(StoredChannel), enabled: z.boolean() },
  last_fired_at: z.iso.datetime().optional(),
})
export type Alert = Omit<z.infer<typeof Alert>, 'id' | 'version' | 'filters' | 'name'> & {
  readonly name: string
  readonly filters: readonly Filter[]
}

/** The body of `POST /api/alerts`: `finishedAlert` has to say yes to it yet. */
export const NewAlert = z.strictObject({ site: SiteId, ...alertFields, metric: Metric.optional() })
/** The body of `PATCH /api/alerts/{id}`; null takes away. */
export const AlertChange = z
  .strictObject({
    ...alertFields,
    ...{ metric: Metric.nullable(), audience: alertFields.audience.nullable() },
    ...{ op: Op.nullable(), value: Value.nullable() },
    ...{ filters: Filters, window_minutes: Minutes, enabled: z.boolean() },
  })
  .partial()

/** What the 201 answer and a rotation have besides. */
export const AlertSecret = z
  .string()
  .describe("What the alert's webhooks are signed with (`x-service-signature`, as ingest is); shown here alone.")

const fieldError = (message: string, field: string) => new ApiError('validation_error', message, field)

/** An alert whose parts fit together, in canonical names. Throws `validation_error` with the field. */
export function normaliseAlert({ metric, audience: asked, op, value, ...rest }: z.infer<typeof NewAlert>): Alert {
  const { kind, channels } = rest
  const filters = parseFilters(rest.filters)
  const twice = channels.findIndex((one, i) => channels.slice(0, i).some((other) => isSameChannel(one, other)))
  if (twice >= 0) throw fieldError('This channel is there twice.', `channels[${twice}]`)
  if (kind === 'threshold' || kind === 'change') {
    const audience = asked ?? 'human'
    if (metric === undefined) throw fieldError(`An alert of kind ${kind} needs a metric.`, 'metric')
    if (op === undefined) throw fieldError(`An alert of kind ${kind} needs an op.`, 'op')
    if (value === undefined) throw fieldError(`An alert of kind ${kind} needs a value.`, 'value')
    return { ...rest, filters, audience, metric: findMetric(audience, metric), op, value }
  }
  if (metric !== undefined) throw fieldError(`An alert of kind ${kind} has no metric ${quote(metric)}.`, 'metric')
  if (asked !== undefined && asked !== 'agent')
    throw fieldError(`An alert of kind ${kind} is about agents.`, 'audience')
  if (kind === 'policy_changed' && filters.length > 0) throw fieldError(`A policy has nothing to filter by.`, 'filters')
  return { ...rest, filters, audience: 'agent', op: op ?? 'gte', value: value ?? 1 }
}

const StoredAlert = z
  .object({
    ...Alert.shape,
    metric: z.string().nullable(),
    filters: JsonText.transform(parseFilters),
    channels: JsonText.pipe(z.array(StoredChannel)),
    last_fired_at: z.date().nullable(),
  })
  .transform(({ metric, last_fired_at, ...alert }) => ({
    ...alert,
    ...(metric === null ? {} : { metric }),
    ...(last_fired_at === null ? {} : { last_fired_at: last_fired_at.toISOString() }),
  }))

export interface Alerts extends Collection<Alert> {
  /** What its webhooks are signed with. Throws `not_found`. */
  secret(id: number): Promise<string>
  /** A new one; the one before ends with it. Throws `not_found`. */
  rotateSecret(id: number, deed: AuditContext): Promise<string>
}

const SecretRows = z.array(z.object({ secret: z.string() }))

/** The alerts of this instance's sites, over its records. */
export function createAlerts({ records, random }: { records: Records; random(bytes: number): Buffer }): Alerts {
  const fresh = () => `svcw_${random(32).toString('base64url')}`
  const alerts = createCollection<Alert>(records, {
    ...{ table: 'alerts', label: 'alert', maxPerSite: 100 },
    fromRow: (row) => StoredAlert.parse(row),
    toColumns: ({ kind, metric, audience, filters, op, value, window_minutes, channels, enabled }) => ({
      ...{ kind, metric: metric ?? null, audience, op, value, window_minutes, enabled },
      filters: JSON.stringify(filters),
      channels: JSON.stringify(channels),
    }),
    initialColumns: () => ({ secret: fresh(), state: '{}' }),
  })
  return {
    ...alerts,
    async secret(id) {
      const [found] = SecretRows.parse(await records.query(sql`select secret from alerts where id = ${id}`))
      if (!found) throw new ApiError('not_found', 'There is no such alert.')
      return found.secret
    },
    async rotateSecret(id, deed) {
      const { site, name } = await alerts.get(id)
      const secret = fresh()
      await records.write(
        sql`update alerts set secret = ${secret} where id = ${id}`,
        ...auditStatements(deed, { action: 'rotate', object: 'alert', id, details: { site, name } }),
      )
      return secret
    },
  }
}
