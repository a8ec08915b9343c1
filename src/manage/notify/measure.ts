import { z } from 'zod'
import { readPolicyChanges } from '../../agents/policy/stored-changes.js'
import type { Window } from '../../analytics/query/calendar.js'
import type { Filter } from '../../analytics/query/filters.js'
import { prepareRead, type ReadDependencies, runRead } from '../../analytics/query/prepare-read.js'
import type { Read } from '../../analytics/query/read.js'
import agentsBreakdown from '../../analytics/reads/agents/breakdown.js'
import bill from '../../analytics/reads/bill.js'
import editions from '../../analytics/reads/editions.js'
import violations from '../../analytics/reads/policy/violations.js'
import overview from '../../analytics/reads/stats/overview.js'
import { DAY_MS } from '../../base/time-units.js'
import type { Records } from '../../storage/store.js'
import type { Alert } from '../alerts.js'

/** The value that an alert compares, with details. */
export interface Measurement {
  /** Absent if it cannot be computed. */
  readonly value?: number
  /** For kind `change`: the metric in the window and in the one before. */
  readonly now?: number
  readonly before?: number
  /** The counted rows as the reads show them, at most `MAX_DETAILS`. */
  readonly details: readonly Readonly<Record<string, unknown>>[]
}

export interface MeasureDeps {
  /** Returns what reads need, with access to every site. */
  readDependencies(signal: AbortSignal): ReadDependencies
  /** Holds the versions of robots.txt and llms.txt. */
  records: Pick<Records, 'query'>
}

const MAX_DETAILS = 20
/** The largest `limit` that a read accepts. */
const MAX_ROWS = 1_000
const EARLIEST = new Date(Date.UTC(1970, 0, 2))

type AlertScope = Pick<Alert, 'site' | 'audience' | 'filters'>

const alertQuery = (
  { site, audience, filters }: AlertScope,
  { start, end }: Window,
  more: Readonly<Record<string, string>> = {},
): URLSearchParams =>
  new URLSearchParams({
    site: String(site),
    start: start.toISOString(),
    end: end.toISOString(),
    audience,
    filters: JSON.stringify(filters),
    ...more,
  })

const BY_AGENT = { dimension: 'agent_id', limit: String(MAX_ROWS) }

/** Returns the read and the query that measure an alert; undefined for `policy_changed`, which needs none. */
function alertRead(alert: Alert, window: Window): { read: Read; query: URLSearchParams } | undefined {
  switch (alert.kind) {
    case 'threshold':
    case 'unverified_agent':
      return { read: overview, query: alertQuery(alert, window) }
    case 'change':
      return { read: overview, query: alertQuery(alert, window, { compare: 'previous' }) }
    case 'agent_errors':
      return { read: overview, query: alertQuery(addFilter(alert, FAILED), window) }
    case 'new_agent':
      return { read: agentsBreakdown, query: alertQuery(alert, window, BY_AGENT) }
    case 'policy_violation':
      return { read: violations, query: alertQuery(alert, window, { limit: String(MAX_ROWS) }) }
    case 'budget':
      return { read: bill, query: alertQuery(alert, window) }
    case 'old_edition':
      return { read: editions, query: alertQuery({ ...alert, audience: 'all' }, window, { limit: String(MAX_ROWS) }) }
    case 'policy_changed':
      return undefined
  }
}

const FAILED: Filter = { dimension: 'status', op: 'gte', value: 400 }
const addFilter = (alert: Alert, filter: Filter): Alert => ({ ...alert, filters: [...alert.filters, filter] })

/** Throws `validation_error` if the read rejects the alert's query. */
export async function checkAlertQuery(alert: Alert, window: Window, deps: ReadDependencies): Promise<void> {
  const request = alertRead(alert, window)
  if (request) await prepareRead(request.read, request.query, deps)
}

const Metrics = z.record(z.string(), z.unknown())
const Compared = z.object({ change: Metrics, comparison: Metrics })
const Agents = z.array(
  z.object({ value: z.string().optional(), fetches: z.number(), spoofed: z.number(), verified: z.number().optional() }),
)
const Violations = z.array(z.looseObject({ severity: z.string(), fetches: z.number() }))

const Line = z.looseObject({
  kind: z.string(),
  operator: z.string().optional(),
  cost: z.number().optional(),
  bytes: z.number().optional(),
})
const Bill = z.object({ lines: z.array(Line) })
const Operators = z.array(z.object({ operator: z.string(), readers: z.number(), state: z.string() }))
const Editions = z.array(
  z.object({ hostname: z.string(), pathname: z.string(), changed_at: z.string().optional(), operators: Operators }),
)

const optionalValue = (value: unknown): { value?: number } => (typeof value === 'number' ? { value } : {})

/**
 * Measures an alert's window by the reads of the API. Adds agents that were there before the window to `knownAgents`.
 * Throws what the reads throw.
 */
export async function measureAlert(
  alert: Alert,
  window: Window,
  { readDependencies, records, knownAgents, signal }: MeasureDeps & { knownAgents: Set<string>; signal: AbortSignal },
): Promise<Measurement> {
  const deps = readDependencies(signal)
  const request = alertRead(alert, window)
  if (!request) return measurePolicyChanges(alert.site, window, deps, records)
  const { data } = await runRead(request.read, request.query, deps)
  switch (alert.kind) {
    case 'change': {
      const metric = alert.metric ?? ''
      const { change, comparison } = Compared.parse(data)
      const [now, before] = [Metrics.parse(data)[metric], comparison[metric]]
      return {
        ...optionalValue(change[metric]),
        ...(typeof now === 'number' ? { now } : {}),
        ...(typeof before === 'number' ? { before } : {}),
        details: [],
      }
    }
    case 'new_agent':
      return measureNewAgents(alert, window, Agents.parse(data), deps, knownAgents)
    case 'policy_violation': {
      const rows = Violations.parse(data).filter(({ severity }) => severity !== 'grace')
      return { value: rows.reduce((sum, { fetches }) => sum + fetches, 0), details: rows.slice(0, MAX_DETAILS) }
    }
    case 'budget':
      return measureBudget(alert, Bill.parse(data).lines)
    case 'old_edition':
      return measureOldEditions(Editions.parse(data), window)
    default: {
      const metric = { threshold: alert.metric, unverified_agent: 'spoofed', agent_errors: 'fetches' }[
        String(alert.kind)
      ]
      return { ...optionalValue(Metrics.parse(data)[metric ?? '']), details: [] }
    }
  }
}

/** Adds up the lines of a bill. With filters, fetches that only claim a name are left out: they are not the operator's. */
function measureBudget({ metric, filters }: Alert, lines: z.output<typeof Bill>['lines']): Measurement {
  const charged = filters.length === 0 ? lines : lines.filter(({ kind }) => kind !== 'spoofed')
  const amounts = charged.flatMap((line) => {
    const amount = metric === 'bytes' ? line.bytes : line.cost
    return amount === undefined || amount === 0 ? [] : [{ ...line, amount }]
  })
  const isKnown = metric === 'bytes' || lines.some(({ cost }) => cost !== undefined)
  // Costs are whole millionths.
  const value = Math.round(amounts.reduce((sum, { amount }) => sum + amount, 0) * 1e6) / 1e6
  return {
    ...(isKnown ? { value } : {}),
    details: amounts
      .toSorted((a, b) => b.amount - a.amount)
      .slice(0, MAX_DETAILS)
      .map(({ kind, operator = kind, amount }) => ({ operator, [metric ?? 'cost']: amount })),
  }
}

/** Finds the operators that sent readers to a page and have not read it since it changed; the longest time counts. */
function measureOldEditions(pages: z.output<typeof Editions>, { end }: Window): Measurement {
  const overdue = pages.flatMap(({ hostname, pathname, changed_at, operators }) => {
    if (changed_at === undefined) return []
    // Rounded down, so that a day is whole.
    const days = Math.floor(((end.getTime() - Date.parse(changed_at)) / DAY_MS) * 100) / 100
    return operators
      .filter(({ state }) => state === 'old' || state === 'never')
      .map(({ operator, readers }) => ({ operator, hostname, pathname, days, readers }))
  })
  const details = overdue.toSorted((a, b) => b.days - a.days || b.readers - a.readers)
  return { value: details[0]?.days ?? 0, details: details.slice(0, MAX_DETAILS) }
}

/** Reports whether the agent made a fetch itself: spoofed ones only claim its name. */
const hasUnspoofedFetch = ({ fetches, spoofed }: { fetches: number; spoofed: number }) => fetches > spoofed

async function measureNewAgents(
  alert: Alert,
  { start }: Window,
  rows: z.output<typeof Agents>,
  deps: ReadDependencies,
  knownAgents: Set<string>,
): Promise<Measurement> {
  const names = new Map(deps.catalog.map(({ agent_id, name, operator }) => [agent_id, { name, operator }]))
  /** An id that is in no catalogue is a host that the client chose, unless its signature proves it. */
  const agentsOf = (all: typeof rows) =>
    all.flatMap(({ value, ...row }) =>
      value !== undefined && hasUnspoofedFetch(row) && (names.has(value) || (row.verified ?? 0) > 0)
        ? [{ agent_id: value, ...row }]
        : [],
    )
  const here = agentsOf(rows)
  const unknown = here.filter(({ agent_id }) => !knownAgents.has(agent_id))
  if (unknown.length > 0) {
    const filter: Filter = { dimension: 'agent_id', op: 'is', value: unknown.map(({ agent_id }) => agent_id) }
    const query = alertQuery(addFilter(alert, filter), { start: EARLIEST, end: start }, BY_AGENT)
    const { data } = await runRead(agentsBreakdown, query, deps)
    for (const { agent_id } of agentsOf(Agents.parse(data))) knownAgents.add(agent_id)
  }
  const added = unknown.filter(({ agent_id }) => !knownAgents.has(agent_id))
  return {
    value: added.length,
    details: added.slice(0, MAX_DETAILS).map(({ agent_id, fetches, verified }) => ({
      agent_id,
      ...names.get(agent_id),
      fetches,
      ...(verified === undefined ? {} : { verified }),
    })),
  }
}

/** Counts the changes of robots.txt and llms.txt in the window. */
async function measurePolicyChanges(
  site: number,
  window: Window,
  deps: ReadDependencies,
  records: Pick<Records, 'query'>,
): Promise<Measurement> {
  const owner = await deps.site(site)
  const changes = (await readPolicyChanges(records, window)).filter(({ hostname }) => owner?.owns(hostname) === true)
  const details = changes.map(({ hostname, file, status, at }) => ({ hostname, file, status, at: at.toISOString() }))
  return { value: details.length, details: details.slice(-MAX_DETAILS) }
}
