import { ApiError } from '../errors.js'

/** Whose readership is asked about (spec 2.1). */
export const AUDIENCES = ['human', 'agent', 'all'] as const
export type Audience = (typeof AUDIENCES)[number]
/** The two kinds of row there are: `all` is both. */
export type Table = 'events' | 'agent_events'

/** `flag` is 0 or 1. */
export type DimensionType = 'text' | 'number' | 'boolean' | 'flag'

/** One thing that rows can be filtered by and broken down by (contract 4). */
export interface Dimension {
  readonly name: string
  readonly type: DimensionType
  /** The tables that have it as a column of its own name. */
  readonly tables: readonly Table[]
  /** A session's value, the same on all of its rows, or a row's own. */
  readonly level: 'row' | 'session'
  /** Its value in a row, where that is not the column as it is. */
  readonly value?: string
  /** Only some rows are meant to have it: a breakdown leaves out those that have not. */
  readonly optional: boolean
  /** Several as one: those it is made of. */
  readonly parts?: readonly Dimension[]
  /** Names that other tools use for it. */
  readonly aliases: readonly string[]
}

const people: readonly Table[] = ['events']
const agents: readonly Table[] = ['agent_events']
const both: readonly Table[] = ['events', 'agent_events']

type DimensionOptions = Partial<Pick<Dimension, 'type' | 'level' | 'value' | 'optional' | 'aliases'>>
const dimension = (name: string, tables: readonly Table[], traits: DimensionOptions = {}): Dimension => ({
  name,
  tables,
  type: 'text',
  level: 'row',
  optional: false,
  aliases: [],
  ...traits,
})

/** THE table: a request's word becomes SQL text through here or not at all. `prop:<key>` is the one family beside it. */
export const DIMENSIONS: readonly Dimension[] = [
  dimension('hostname', both, { aliases: ['event:hostname', 'host'] }),
  dimension('pathname', both, { aliases: ['event:page', 'path', 'page'] }),
  dimension('entry_page', people, { level: 'session', aliases: ['visit:entry_page', 'entry'] }),
  dimension('exit_page', people, { level: 'session', aliases: ['visit:exit_page', 'exit'] }),
  dimension('referrer', people, { level: 'session', aliases: ['visit:referrer'] }),
  dimension('source', people, { level: 'session', aliases: ['visit:source', 'referrer_name'] }),
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
  // Of the site's goals by name or id: `goals.ts` puts what they stand for in its place.
  dimension('goal', people, { optional: true, aliases: ['event:goal'] }),
  dimension('scroll', people, { type: 'number', optional: true, aliases: ['scroll_depth'] }),
  // Whole: a session's seconds from its first to its last row (`rows`, where.ts).
  dimension('duration', people, { type: 'number', level: 'session', aliases: ['visit_duration'] }),
  dimension('identified_id', people, { optional: true, aliases: ['user_id', 'distinct_id', 'distinctId'] }),
  // Rows from before it was judged have none.
  dimension('suspected', people, { type: 'boolean', value: 'coalesce(suspected, false)' }),
  dimension('agent_id', agents, { aliases: ['agent', 'bot_name'] }),
  dimension('operator', agents, { aliases: ['bot_operator'] }),
  dimension('purpose', agents, { aliases: ['bot_purpose'] }),
  dimension('verified', agents, { type: 'boolean' }),
  dimension('verification', agents),
  dimension('status', agents, { type: 'number', aliases: ['status_code'] }),
  dimension('method', agents),
  dimension('content_type', agents),
  dimension('user_agent', agents, { aliases: ['ua'] }),
  dimension('robots_allowed', agents, { type: 'boolean' }),
  dimension('llms_listed', agents, { type: 'flag' }),
  dimension('conditional', agents, { type: 'flag' }),
]

/** Properties of events: any key, so a family and not rows of the table. */
const PROP_ALIASES = ['prop:', 'props:', 'event:props:']
const byName = new Map(DIMENSIONS.flatMap((d) => [d.name, ...d.aliases].map((name) => [name, d] as const)))

/** The dimension of a name or alias; throws `validation_error` on `field` for a word that is none. */
export function findDimension(name: string, field: string): Dimension {
  const known = byName.get(name)
  if (known) return known
  const prefix = PROP_ALIASES.find((alias) => name.startsWith(alias) && name.length > alias.length)
  if (prefix) return dimension(`prop:${name.slice(prefix.length)}`, people, { optional: true })
  throw new ApiError('validation_error', `There is no dimension ${quote(name)}.`, field)
}

/** The key of a `prop:<key>` dimension, undefined for any other. */
export const propKey = (d: Dimension): string | undefined => (d.name.startsWith('prop:') ? d.name.slice(5) : undefined)

/** The tables that an audience's answer is drawn from. */
export const audienceTables = (audience: Audience): readonly Table[] =>
  ({ human: people, agent: agents, all: both })[audience]

/** Throws `validation_error` on `field` where the audience has no such dimension; `all` has those both have (contract 4). */
export function requireDimension(d: Dimension, audience: Audience, field: string): void {
  if (audienceTables(audience).every((table) => d.tables.includes(table))) return
  throw new ApiError('validation_error', `Audience ${audience} has no dimension ${quote(d.name)}.`, field)
}

/** The audiences that have a dimension. */
export const audiencesWith = (d: Dimension): Audience[] =>
  AUDIENCES.filter((audience) => audienceTables(audience).every((table) => d.tables.includes(table)))

/** A word of a request in a message: short, and plainly a quotation. */
export const quote = (word: string): string => JSON.stringify(word.length > 60 ? `${word.slice(0, 60)}...` : word)
