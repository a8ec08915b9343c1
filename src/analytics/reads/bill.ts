import { z } from 'zod'
import { SEARCH_SOURCES } from '../../base/search-sources.js'
import type { Sql } from '../../storage/sql.js'
import type { ResultRow } from '../../storage/store.js'
import {
  addCharged,
  addCosts,
  addTaken,
  type Charged,
  charge,
  hasBytes,
  hasDuration,
  hasPrices,
  MICRO,
  type Taken,
} from '../query/bill.js'
import { goalsBySender, peopleTime, readersBySender, takenBy } from '../query/bill-rows.js'
import { listBuckets } from '../query/buckets.js'
import { withComparison } from '../query/comparison.js'
import { type Plan, withWindow } from '../query/plan.js'
import { defineRead } from '../query/read.js'
import { OTHER_AGENTS, type ReadContext } from '../query/read-context.js'
import { SEVERITIES, type Severity } from '../query/violations.js'
import { Count, comparableRow, Fetches, Instant, Partial, Share } from './shapes.js'

const Cost = z
  .number()
  .nonnegative()
  .optional()
  .describe("At the site's prices of today, rounded to a millionth of `currency`. Absent without a price.")
const takenShape = {
  fetches: Fetches.optional().describe('Fetches without refused ones. Absent if nothing was recorded.'),
  bytes: Count.optional().describe('Body bytes sent. Absent if no row says its size.'),
  origin_seconds: z
    .number()
    .nonnegative()
    .optional()
    .describe('Sum of durations, each until the client had the last byte. Absent if no row says its own.'),
  cost: Cost,
  without_bytes: Count.optional().describe(
    'Fetches without a size: GET, answered 200 or 206 with 0 bytes, as rows of logs and of other servers that do not say it. Absent: none.',
  ),
  without_duration: Count.optional().describe(
    'Fetches with a duration of 0 ms: rows of logs and of other servers that do not say it, and responses in less than half a millisecond. Absent: none.',
  ),
}
const givenShape = {
  readers: Count.optional().describe(
    "Visits of people that came from the operator's assistants and search engines, without those by advertisements.",
  ),
  goals: Count.optional().describe(
    'Goals that these visits reached, each once a visit. Absent: the site has no goals.',
  ),
}
const BillLine = comparableRow({
  kind: z.enum(['operator', 'no_operator', 'spoofed']),
  operator: z.string().optional(),
  ...takenShape,
  share: Share.optional().describe("Share of the recorded origin time of agents' fetches and of people's pages."),
  ...givenShape,
  cost_per_reader: z.number().nonnegative().optional().describe('Rounded to a millionth.'),
  no_cost_per_reader: z.enum(['no_prices', 'no_reader_came', 'no_operator']).optional().describe('Why it is absent.'),
})
const OperatorOfBill = z
  .string()
  .min(1)
  .max(200)
  .optional()
  .describe("Only this operator, by the catalogue's name, and its agents, without fetches that only claim its name.")
const MAIN = ['fetches', 'bytes', 'origin_seconds', 'cost', 'readers', 'goals']

/** GET /api/bill: what each operator's agents took, at the owner's prices, and the readers that it sent. */
export default defineRead({
  path: '/api/bill',
  summary: 'Per operator: what its fetches took and cost, readers it sent, cost per reader; what disobedience cost',
  params: { operator: OperatorOfBill },
  audience: { only: 'all', mixesAudiences: true },
  data: comparableRow({
    ...{ ...takenShape, ...givenShape },
    currency: z.string().describe('ISO 4217.'),
    price_per_gigabyte: z.number().optional(),
    price_per_thousand_requests: z.number().optional(),
    price_per_origin_second: z.number().optional(),
    people_seconds: z.number().nonnegative().describe("Origin time of people's pages, which `share` counts too."),
    refused_fetches: Count.describe('Fetches that a rule refused. They cost nothing and are not on the bill.'),
    refused_bytes: Count,
    spoofed_fetches: Count.describe(
      "Fetches that only claim an agent's name: on the bill as a line of their own; with `operator` not on it.",
    ),
    spoofed_bytes: Count,
    disallowed_fetches: Count.describe('Fetches on the bill that robots.txt disallowed at the time.'),
    disallowed_cost: Cost,
    lines: z.array(BillLine),
    agents: z
      .array(z.object({ agent_id: z.string(), name: z.string(), purpose: z.string(), ...takenShape }))
      .optional()
      .describe("With `operator`: its agents, whose costs add up to the operator's."),
    disobedience: z.array(
      z.object({
        severity: z.enum(SEVERITIES).describe('As in `/api/policy/violations`.'),
        agent_id: z.string(),
        name: z.string(),
        operator: z.string(),
        spoofed: z.literal(true).optional().describe('The fetches only claim this name.'),
        ...takenShape,
      }),
    ),
    buckets: z
      .array(z.object({ t: Instant, partial: Partial, ...takenShape }))
      .describe('Amounts that the fetches on the bill took over time; each cost is rounded on its own.'),
  }),
  run: async (context, { operator }) => {
    const { plan, site } = context
    const { price_per_gigabyte, price_per_thousand_requests, price_per_origin_second, currency = 'EUR' } = site
    const now = await readBill(context, plan, operator)
    const then = plan.comparison && (await readBill(context, withWindow(plan, plan.comparison), operator))
    const compare = (row: ResultRow, before: ResultRow | undefined) =>
      then ? withComparison(row, then.isRecorded && before ? before : {}, MAIN, then.isRecorded) : row
    const lines = now.lines.map((line) => {
      const { kind, operator, cost, readers } = line
      const share = hasDuration(line) && now.allMs > 0 ? { share: line.ms / now.allMs } : {}
      const row = { kind, ...(kind === 'operator' && { operator }), ...figures(line), ...share }
      return compare({ ...row, ...costPerReader(kind, cost, readers) }, then && figures(then.lineOf(kind, operator)))
    })
    const disobedience = listDisobedience(context, now.rows)
    warnOfBill(context, now)
    for (const name of MAIN) context.metrics.add(name)
    const data = {
      ...compare(now.isRecorded ? figures(now) : {}, then && figures(then)),
      ...{ currency, price_per_gigabyte, price_per_thousand_requests, price_per_origin_second },
      people_seconds: now.peopleMs / 1_000,
      ...{ refused_fetches: now.refused.fetches, refused_bytes: now.refused.bytes },
      ...{ spoofed_fetches: now.spoofed.fetches, spoofed_bytes: now.spoofed.bytes },
      disallowed_fetches: disobedience.reduce((sum, { fetches }) => sum + fetches, 0),
      ...money('disallowed_cost', addCosts(disobedience)),
      lines,
      ...(operator !== undefined && { agents: now.lines.flatMap(({ agents }) => agents.map(rowOf)) }),
      disobedience: disobedience.map(rowOf),
      buckets: await readBuckets(context, operator),
    }
    return { data, rows: lines.length }
  },
})

interface Given {
  readonly readers?: number
  readonly goals?: number
}
type Kind = z.output<typeof BillLine>['kind']
interface Row extends Taken {
  readonly kind: Kind | 'refused'
  readonly operator: string
  readonly agent_id: string
  readonly purpose: string
  readonly severity: Severity | undefined
  readonly bucket: number
}
type ChargedRow = Charged & { readonly row: ResultRow }
type Line = Charged & Given & { kind: Kind; operator?: string | undefined; readonly agents: readonly ChargedRow[] }

async function readRows(context: ReadContext, plan: Plan, of: 'agents' | 'buckets'): Promise<Row[]> {
  const rows = await context.rows(takenBy(plan, of, context.catalog))
  return rows.map(({ fate, operator, agent_id, purpose, severity, bucket, ...taken }) => ({
    kind: fate === 'charged' ? (agent_id === OTHER_AGENTS ? 'no_operator' : 'operator') : Fate.parse(fate),
    ...{ operator: String(operator), agent_id: String(agent_id), purpose: String(purpose), bucket: Number(bucket) },
    severity: SEVERITIES.find((each) => each === severity),
    ...{ fetches: Number(taken.fetches), bytes: Number(taken.size ?? 0), ms: Number(taken.ms ?? 0) },
    ...{ without_bytes: Number(taken.without_bytes), without_duration: Number(taken.without_duration) },
  }))
}
const Fate = z.enum(['spoofed', 'refused'])

/** Reports whether fetches are on the bill: of one operator, without those that only claim its name; undefined: of all. */
const isOnBill =
  (operator: string | undefined) =>
  (row: Row): boolean =>
    operator === undefined ? row.kind !== 'refused' : row.kind === 'operator' && row.operator === operator

/** Groups rows by some of their fields; each group comes with its first row. */
function groupBy(rows: readonly Row[], ...fields: (keyof Row)[]): [first: Row, all: readonly Row[]][] {
  const groups = new Map<string, [Row, Row[]]>()
  for (const row of rows) {
    const key = JSON.stringify(fields.map((field) => row[field]))
    const group = groups.get(key)
    if (group) group[1].push(row)
    else groups.set(key, [row, [row]])
  }
  return [...groups.values()]
}

/** Reads one window of the bill: the dearest line first, spoofed fetches last. */
async function readBill(context: ReadContext, plan: Plan, operator: string | undefined) {
  const { site } = context
  const all = await readRows(context, plan, 'agents')
  const rows = all.filter(isOnBill(operator))
  const given = await readGiven(context, plan)
  const isNamed = (name: string) => operator === undefined || name === operator
  const lineOf = (kind: Kind, name?: string): Line => {
    const own = rows.filter((row) => row.kind === kind && (name === undefined || row.operator === name))
    const agents = groupBy(own, 'agent_id', 'operator', 'purpose')
      .map(([{ agent_id, purpose }, of]) => {
        const { name } = context.agentNames(agent_id)
        return { ...charge(of, site), row: { agent_id, name, purpose } }
      })
      .toSorted(byCost)
    return { kind, operator: name, ...addCharged(agents, site), ...(name !== undefined && given.by(name)), agents }
  }
  const operators = rows.flatMap((row) => (row.kind === 'operator' ? row.operator : []))
  const nameless = (['no_operator', 'spoofed'] as const).map((kind) => lineOf(kind))
  const lines = [
    ...[...new Set([...operators, ...given.operators])].filter(isNamed).map((name) => lineOf('operator', name)),
    ...nameless.filter(({ agents }) => agents.length > 0),
  ].toSorted((a, b) => Number(a.kind === 'spoofed') - Number(b.kind === 'spoofed') || byCost(a, b))
  const [people = {}] = await context.rows(peopleTime(plan))
  const peopleMs = Number(people.ms ?? 0)
  const sum = (field: keyof Given) => lines.reduce((n, line) => n + (line[field] ?? 0), 0)
  const notBilled = (kind: 'refused' | 'spoofed') =>
    addTaken(all.filter((row) => row.kind === kind && isNamed(row.operator)))
  return {
    isRecorded: lines.length > 0 || context.recorded(plan.window) !== 'none',
    ...{ lines, rows, lineOf },
    ...addCharged(lines, site),
    ...{ readers: sum('readers'), ...(given.hasGoals && { goals: sum('goals') }) },
    ...{ refused: notBilled('refused'), spoofed: notBilled('spoofed') },
    peopleMs,
    /** Time of all fetches that no rule refused, and of people's pages. */
    allMs: peopleMs + addTaken(all.filter(isOnBill(undefined))).ms,
  }
}
type Bill = Awaited<ReturnType<typeof readBill>>

type Ranked = Charged & Given & { readonly operator?: string | undefined }
/** Orders by cost, bytes, fetches, readers, the most first, and then by name. */
const byCost = (a: Ranked, b: Ranked): number =>
  Number((b.cost ?? 0n) - (a.cost ?? 0n)) ||
  b.bytes - a.bytes ||
  b.fetches - a.fetches ||
  (b.readers ?? 0) - (a.readers ?? 0) ||
  ((a.operator ?? '') < (b.operator ?? '') ? -1 : 1)

/** Returns what operators sent, and the operators that sent readers. */
async function readGiven({ rows, assistants }: ReadContext, plan: Plan) {
  const owners = new Map([...assistants, ...SEARCH_SOURCES].map(({ source, operator }) => [source, operator]))
  const hasGoals = (plan.goals ?? []).length > 0
  const senders = [...owners.keys()]
  const tally = async (statement: Sql) => {
    const counts = new Map<string, number>()
    for (const { sender, n } of await rows(statement)) {
      const operator = owners.get(String(sender)) ?? ''
      counts.set(operator, (counts.get(operator) ?? 0) + Number(n))
    }
    return counts
  }
  const readers = await tally(readersBySender(plan, senders))
  const goals = hasGoals ? await tally(goalsBySender(plan, senders)) : undefined
  const by = (operator: string): Given => ({
    readers: readers.get(operator) ?? 0,
    ...(goals && { goals: goals.get(operator) ?? 0 }),
  })
  return { by, operators: [...readers.keys()], hasGoals }
}

/** Lists the fetches on the bill that robots.txt disallowed: the most serious first. */
const listDisobedience = (context: ReadContext, rows: readonly Row[]) =>
  groupBy(
    rows.filter(({ severity }) => severity !== undefined),
    ...(['severity', 'agent_id', 'operator', 'kind'] as const),
  )
    .map(([{ severity = 'unclear', agent_id, operator, kind }, all]) => {
      const agent = { severity, agent_id, name: context.agentNames(agent_id).name, operator }
      return { ...charge(all, context.site), row: { ...agent, ...(kind === 'spoofed' && { spoofed: true }) } }
    })
    .toSorted(
      (a, b) =>
        SEVERITIES.indexOf(a.row.severity) - SEVERITIES.indexOf(b.row.severity) ||
        b.fetches - a.fetches ||
        (a.row.agent_id < b.row.agent_id ? -1 : 1),
    )

async function readBuckets(context: ReadContext, operator: string | undefined) {
  const { plan, site } = context
  const { window, tz, granularity } = plan
  const rows = (await readRows(context, plan, 'buckets')).filter(isOnBill(operator))
  const taken = new Map(groupBy(rows, 'bucket').map(([{ bucket }, all]) => [bucket, all]))
  const buckets = listBuckets(window, tz, granularity)
  const parts = context.recordedBuckets(buckets, window, tz, granularity)
  return buckets.map(({ t, key }, i) => {
    const all = taken.get(key)
    if (parts[i] === 'none' && all === undefined) return { t: t.toISOString() }
    const partial = parts[i] === 'all' ? {} : { partial: true }
    return { t: t.toISOString(), ...partial, ...figures(charge(all ?? [], site)) }
  })
}

const money = (name: string, cost: bigint | undefined) => (cost === undefined ? {} : { [name]: Number(cost) / MICRO })
const figures = ({ readers, goals, cost, ...taken }: Charged & Given) => ({
  fetches: taken.fetches,
  ...(hasBytes(taken) && { bytes: taken.bytes }),
  ...(hasDuration(taken) && { origin_seconds: taken.ms / 1_000 }),
  ...money('cost', cost),
  ...(readers !== undefined && { readers }),
  ...(goals !== undefined && { goals }),
  ...(taken.without_bytes > 0 && { without_bytes: taken.without_bytes }),
  ...(taken.without_duration > 0 && { without_duration: taken.without_duration }),
})

const rowOf = ({ row, ...taken }: ChargedRow) => ({ ...row, ...figures(taken) })

/** Never infinite, and never 0 because a part of it is not known: without one, the reason. */
function costPerReader(kind: Kind, cost: bigint | undefined, readers = 0) {
  if (kind !== 'operator') return { no_cost_per_reader: 'no_operator' }
  if (cost === undefined) return { no_cost_per_reader: 'no_prices' }
  if (readers === 0) return { no_cost_per_reader: 'no_reader_came' }
  return { cost_per_reader: Math.round(Number(cost) / readers) / MICRO }
}

function warnOfBill({ warn, site }: ReadContext, { goals, without_bytes, without_duration }: Bill): void {
  const leftOut = (n: number, what: string) =>
    `${n} fetches say no ${what} and add none: rows of logs and of other servers that do not record it.`
  const warnings = [
    !hasPrices(site) && ['cost', 'no_prices', 'Set a price per gigabyte, request or second to see costs.'],
    goals === undefined && ['goals', 'no_goals', 'The site has no goals.'],
    without_bytes > 0 && ['bytes', 'bytes_not_recorded', leftOut(without_bytes, 'size')],
    without_duration > 0 && ['origin_seconds', 'durations_not_recorded', leftOut(without_duration, 'duration')],
    [
      ...['readers', 'readers_are_a_floor'],
      'Readers are those whose arrival names the operator; native apps name none, so cost per reader is an upper bound.',
    ],
  ]
  for (const [metric = '', code = '', message = ''] of warnings.filter((one) => one !== false))
    warn({ metric, code, message })
}
