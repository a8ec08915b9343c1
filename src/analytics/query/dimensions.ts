import { ApiError } from '../../base/errors.js'
import { nearestName } from '../../base/nearest-name.js'
import { FOREIGN_DIMENSIONS, foreignName } from './foreign-names.js'

/** The audiences: people, agents, or both. */
export const AUDIENCES = ['human', 'agent', 'all'] as const
export type Audience = (typeof AUDIENCES)[number]
/** The two tables of rows; audience `all` uses both. */
export type ReadTable = 'events' | 'agent_events'

/** A `flag` is 0 or 1. */
type DimensionType = 'text' | 'number' | 'boolean' | 'flag'

/** A property of rows to filter by and to break down by. */
export interface Dimension {
  readonly name: string
  readonly type: DimensionType
  /** The tables with a column of that name. */
  readonly tables: readonly ReadTable[]
  /** `session`: the same on all rows of a session. `row`: each row's own. */
  readonly level: 'row' | 'session'
  /** The SQL of its value, unless it is the plain column. */
  readonly value?: string
  /** True if only some rows are meant to have it: a breakdown then leaves out rows without it. */
  readonly optional: boolean
  /** The dimensions that a combined dimension is made of. */
  readonly parts?: readonly Dimension[]
  /** Names that other tools use for it. */
  readonly aliases: readonly string[]
}

const people: readonly ReadTable[] = ['events']
const agents: readonly ReadTable[] = ['agent_events']
const both: readonly ReadTable[] = ['events', 'agent_events']

type DimensionOptions = Partial<Pick<Dimension, 'type' | 'level' | 'value' | 'optional' | 'aliases'>>
const dimension = (name: string, tables: readonly ReadTable[], traits: DimensionOptions = {}): Dimension => ({
  name,
  tables,
  type: 'text',
  level: 'row',
  optional: false,
  aliases: [],
  ...traits,
})

/** The only way from a request's word to SQL text. `prop:<key>` is the one family of dimensions beside it. */
export const DIMENSIONS: readonly Dimension[] = [
  dimension('hostname', both, { aliases: ['event:hostname', 'host'] }),
  dimension('pathname', both, { aliases: ['event:page', 'path', 'page'] }),
  // The first of the site's patterns that fits the path: in filters, `resolveSections` replaces it by conditions on the path.
  dimension('section', both),
  dimension('entry_page', people, { level: 'session', aliases: ['visit:entry_page', 'entry'] }),
  dimension('exit_page', people, { level: 'session', aliases: ['visit:exit_page', 'exit'] }),
  dimension('referrer', people, { level: 'session', aliases: ['visit:referrer'] }),
  dimension('source', people, { level: 'session', aliases: ['visit:source', 'referrer_name'] }),
  // Rows keep the referrer without a source only if it is referrer spam. Some engines give conditions the type of numbers.
  dimension('referrer_spam', people, {
    type: 'boolean',
    value: 'cast(source is null and referrer is not null as boolean)',
  }),
  dimension('channel', people, { level: 'session', aliases: ['visit:channel'] }),
  ...['source', 'medium', 'campaign', 'content', 'term'].map((part) =>
    dimension(`utm_${part}`, people, {
      level: 'session',
      optional: true,
      aliases: [`visit:utm_${part}`, `utm${part[0]?.toUpperCase()}${part.slice(1)}`],
    }),
  ),
  dimension('country', both, { aliases: ['visit:country'] }),
  dimension('region', people, { aliases: ['visit:region'] }),
  dimension('city', people, { aliases: ['visit:city'] }),
  dimension('asn', both, { type: 'number' }),
  dimension('browser', people, { aliases: ['visit:browser'] }),
  dimension('browser_version', people, { aliases: ['visit:browser_version'] }),
  dimension('os', people, { aliases: ['visit:os', 'operating_system'] }),
  dimension('os_version', people, { aliases: ['visit:os_version', 'operating_system_version'] }),
  dimension('device_type', people, { aliases: ['visit:device', 'device'] }),
  dimension('screen_class', people, { aliases: ['visit:screen', 'screen'] }),
  dimension('language', people),
  dimension('event_name', people, { optional: true, aliases: ['event:name', 'event'] }),
  dimension('kind', people, { aliases: ['event_type', 'eventType'] }),
  // The site's goals by name or id: in filters, `resolveGoals` replaces it by the goal's own conditions.
  dimension('goal', people, { optional: true, aliases: ['event:goal'] }),
  dimension('scroll', people, { type: 'number', optional: true, aliases: ['scroll_depth'] }),
  // Seconds from a session's first to its last row; joined by `sourceRows` (conditions.ts).
  dimension('duration', people, { type: 'number', level: 'session', aliases: ['visit_duration'] }),
  // As reads show it: 16 hexadecimal digits.
  dimension('visitor_id', people, { value: "printf('%016x', visitor_id)" }),
  dimension('identified_id', people, { optional: true, aliases: ['user_id', 'distinct_id', 'distinctId'] }),
  // Null in rows that are older than the column.
  dimension('suspected', people, { type: 'boolean', value: 'coalesce(suspected, false)' }),
  dimension('agent_id', agents, { aliases: ['agent', 'bot_name'] }),
  dimension('operator', agents, { aliases: ['bot_operator'] }),
  dimension('purpose', agents, { aliases: ['bot_purpose'] }),
  dimension('verified', agents, { type: 'boolean' }),
  dimension('verification', agents),
  dimension('status', agents, { type: 'number', aliases: ['status_code'] }),
  dimension('method', agents),
  dimension('content_type', agents),
  dimension('accepts', agents),
  dimension('user_agent', agents, { aliases: ['ua'] }),
  dimension('robots_allowed', agents, { type: 'boolean' }),
  dimension('llms_listed', agents, { type: 'flag' }),
  dimension('conditional', agents, { type: 'flag' }),
  // Only fetches that one of the operator's rules decided have these.
  dimension('action', agents, { optional: true }),
  dimension('rule', agents, { type: 'number', optional: true }),
]

/** Properties of events have any key, so they are a family and not entries of the table. */
const PROP_ALIASES = ['prop:', 'props:', 'event:props:']
const byName = new Map(DIMENSIONS.flatMap((d) => [d.name, ...d.aliases].map((name) => [name, d] as const)))

/** Finds a dimension by its name or an alias. Throws `validation_error` on `field` if it is unknown. */
export function findDimension(name: string, field: string): Dimension {
  const known = byName.get(name)
  if (known) return known
  const prefix = PROP_ALIASES.find((alias) => name.startsWith(alias) && name.length > alias.length)
  if (prefix) return dimension(`prop:${name.slice(prefix.length)}`, people, { optional: true })
  const ours = foreignName(name, FOREIGN_DIMENSIONS)
  const near = byName.get(nearestName(name, [...byName.keys()]) ?? '')
  const otherwise = near ? `; did you mean ${near.name}?` : '; GET /api/stats/dimensions lists them.'
  const one = name.includes(',')
    ? `; name one, such as ${lookUpDimension(name.split(',')[0] ?? '') ?? 'pathname'}.`
    : otherwise
  const hint = ours === undefined ? one : `; write ${ours}.`
  throw new ApiError('validation_error', `Unknown dimension ${quote(name)}${hint}`, field)
}

/** The name of the dimension that a word of ours or of another tool means; undefined if none. */
export const lookUpDimension = (word: string): string | undefined =>
  byName.get(word)?.name ?? foreignName(word, FOREIGN_DIMENSIONS)

/** The key of a `prop:<key>` dimension, undefined for any other. */
export const propKey = (d: Dimension): string | undefined => (d.name.startsWith('prop:') ? d.name.slice(5) : undefined)

/** The tables that an audience reads. */
const audienceTables = (audience: Audience): readonly ReadTable[] =>
  ({ human: people, agent: agents, all: both })[audience]

/**
 * Throws `validation_error` on `field` if the audience lacks the dimension; `all` has the dimensions that both have.
 */
export function requireDimension(d: Dimension, audience: Audience, field: string): void {
  if (audienceTables(audience).every((table) => d.tables.includes(table))) return
  const having = audiencesWith(d).join(' and ')
  const message = `Audience ${audience} has no dimension ${quote(d.name)}; audience ${having} has it.`
  throw new ApiError('validation_error', message, field)
}

/** The audiences that have a dimension. */
export const audiencesWith = (d: Dimension): Audience[] =>
  AUDIENCES.filter((audience) => audienceTables(audience).every((table) => d.tables.includes(table)))

/** Quotes a request's word for a message, at most 60 characters of it. */
export const quote = (word: string): string => JSON.stringify(word.length > 60 ? `${word.slice(0, 60)}...` : word)
