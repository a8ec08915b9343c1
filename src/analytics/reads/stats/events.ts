import { z } from 'zod'
import { IS_INTERACTIVE } from '../../../storage/aggregates/session-aggregates.js'
import { raw, type Sql, sql } from '../../../storage/sql.js'
import type { ResultRow } from '../../../storage/store.js'
import { sourceRows, whereClause } from '../../query/conditions.js'
import { findDimension } from '../../query/dimensions.js'
import { groupByDimension } from '../../query/group-by-dimension.js'
import { columnsMatch } from '../../query/key-match.js'
import { METRICS, metricsBy } from '../../query/metrics.js'
import type { Plan } from '../../query/plan.js'
import { defineRead } from '../../query/read.js'
import { oneAudience } from '../../query/read-audience.js'
import type { ReadContext } from '../../query/read-context.js'
import { comparableRow, metricShapes } from '../shapes.js'

const PEOPLE_METRICS = ['events', 'visitors'] as const
const EVENT_KEY = ['name', 'kind']
/** Limits: properties per event, values per property, and values if one property is requested. */
const MAX_KEYS = 20
const MAX_VALUES = 10
const MAX_VALUES_OF_ONE_KEY = 100

const optionalText = z.string().min(1).max(500).optional()

/**
 * GET /api/stats/events: what people did besides viewing pages, by name. Counts as the metric `events` does, so rows
 * add up to it. Only custom events have names; others are named after their kind. An agent's events are its fetches, named
 * after their method.
 */
export default defineRead({
  path: '/api/stats/events',
  summary: 'Events by name, with their properties',
  params: {
    name: optionalText.describe('One event by its name; an event that is not custom is named after its kind.'),
    property: optionalText.describe('One property by its key; default the most frequent of each event.'),
  },
  list: true,
  audience: oneAudience(),
  data: z.array(
    comparableRow({
      name: z.string(),
      kind: z.string(),
      ...metricShapes([...PEOPLE_METRICS, ...METRICS.agent]),
      properties: z
        .array(z.object({ key: z.string(), values: z.array(z.object({ value: z.string(), events: z.int() })) }))
        .optional()
        .describe('People only. Most frequent first. Values are text, as filters on `prop:<key>` compare them.'),
    }),
  ),
  run: async (context, { name, property }) => {
    const page = await context.list(
      { key: EVENT_KEY, order: ['events desc', 'visitors desc'], metrics: PEOPLE_METRICS },
      (plan) => sql`
        select name, kind, count(*) as events, count(distinct visitor_id) as visitors
        from (${eventRows(plan, name)}) e group by name, kind`,
    )
    const properties = await propertiesByEvent(context, page, name, property)
    const data = page.map((event) => ({
      ...event,
      properties: Array.from(properties.get(eventKey(event)) ?? [], ([key, values]) => ({ key, values })),
    }))
    return { data, rows: data.length }
  },
  runForAgents: async (context, { name }) => {
    context.meaningful(PEOPLE_METRICS)
    const by = groupByDimension(findDimension('method', 'dimension'), context.plan)
    const data = await context.list(
      { key: EVENT_KEY, order: ['fetches desc'], metrics: METRICS.agent },
      (plan) => sql`
        select value as name, 'fetch' as kind, ${raw(METRICS.agent.join(', '))}
        from (${metricsBy(plan, by, METRICS.agent)}) m where ${name === undefined ? raw('true') : sql`value = ${name}`}`,
    )
    return { data, rows: data.length }
  },
})

const eventKey = ({ name, kind }: ResultRow): string => JSON.stringify([name, kind])

const eventRows = (plan: Plan, name: string | undefined): Sql => {
  const named = raw('coalesce(event_name, kind)')
  return sql`
    select ${named} as name, kind, visitor_id, props from ${sourceRows('events', plan)} as e
    where ${whereClause(plan)} and ${IS_INTERACTIVE} and ${name === undefined ? raw('true') : sql`${named} = ${name}`}`
}

interface PropertyValue {
  readonly value: unknown
  readonly events: unknown
}

/** The properties of the page's events, by event. */
async function propertiesByEvent(
  context: ReadContext,
  page: readonly ResultRow[],
  name: string | undefined,
  property: string | undefined,
): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly PropertyValue[]>>> {
  const byEvent = new Map<string, Map<string, PropertyValue[]>>()
  if (page.length === 0) return byEvent
  const shown = sql`select * from (${eventRows(context.plan, name)}) e where props is not null and ${columnsMatch(EVENT_KEY, page)}`
  const most = property === undefined ? MAX_VALUES : MAX_VALUES_OF_ONE_KEY
  const each =
    property === undefined
      ? context.plan.dialect.jsonEach(shown, raw('props'))
      : sql`select name, kind, ${property} as key, ${context.plan.dialect.jsonText(raw('props'), property)} as value from (${shown}) p`
  // One more than the limits shows whether something was cut.
  const counted = await context.rows(sql`
    select name, kind, key, value, n as events, nth_key, nth_value
    from (
      select *, dense_rank() over (partition by name, kind order by of_key desc, key) as nth_key
      from (
        select name, kind, key, value, n, sum(n) over (partition by name, kind, key) as of_key,
          row_number() over (partition by name, kind, key order by n desc, value) as nth_value
        from (
          select name, kind, key, value, count(*) as n from (${each}) p
          where value is not null group by name, kind, key, value) c) v) k
    where nth_key <= ${MAX_KEYS + 1} and nth_value <= ${most + 1} order by nth_key, nth_value`)
  let cut = false
  for (const { key, value, events, nth_key, nth_value, ...event } of counted) {
    if (Number(nth_key) > MAX_KEYS || Number(nth_value) > most) {
      cut = true
      continue
    }
    const name = eventKey(event)
    const properties = byEvent.get(name) ?? new Map<string, PropertyValue[]>()
    byEvent.set(name, properties)
    properties.set(String(key), [...(properties.get(String(key)) ?? []), { value, events }])
  }
  if (cut) {
    const bounds =
      property === undefined ? `${MAX_KEYS} properties per event and ${most} values each` : `${most} values`
    const message = `Only the most frequent ${bounds} are returned; GET /api/stats/breakdown with dimension prop:<key> has all.`
    context.warn({ metric: 'properties', code: 'properties_cut', message })
  }
  return byEvent
}
