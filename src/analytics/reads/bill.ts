import { z } from 'zod'
import { SEARCH_SOURCES } from '../../base/search-sources.js'
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
    const compare = (row: ResultRow, other: ResultRow | undefined) =>
      then ? withComparison(row, then.isRecorded && other ? other : {}, MAIN, then.isRecorded) : row
    const lines = now.lines.map((line) => {
      const { kind, operator, cost, readers } = line
      const isSame = (other: Line) => other.kind === kind && other.operator === operator
      const before = then?.lines.find(isSame) ?? then?.emptyLine({ kind, operator })
      const share = hasDuration(line) && now.allMs > 0 ? { share: line.ms / now.allMs } : {}
      const row = { kind, ...(kind === 'operator' && { operator }), ...figures(line), ...share }
      return compare({ ...row, ...costPerReader(kind, cost, readers) }, before && figures(before))
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
      ...(operator !== undefined && {
        agents: now.lines.flatMap(({ agents }) => agents.map(({ row, ...of }) => ({ ...row, ...figures(of) }))),
      }),
      disobedience: disobedience.map(({ row, ...of }) => ({ ...row, ...figures(of) })),
      buckets: await readBuckets(context, operator),
    }
    return { data, rows: lines.length }
  },
})

interface Given {
  readonly readers?: number
  readonly goals?: number
}
interface Row extends Taken {
  readonly operator: string
  readonly fate: unknown
  readonly severity: Severity | undefined
  readonly source: ResultRow
}
interface LineName {
  readonly kind: z.output<typeof BillLine>['kind']
  readonly operator?: string | undefined
}
type Agent = Charged & { readonly row: { readonly agent_id: string; readonly name: string; readonly purpose: string } }
type Line = Charged & Given & LineName & { readonly agents: readonly Agent[] }

async function readRows(context: ReadContext, plan: Plan, of: 'agents' | 'buckets'): Promise<Row[]> {
  const rows = await context.rows(takenBy(plan, of, context.catalog))
  return rows.map((source) => ({
    ...{ source, operator: String(source.operator), fate: source.fate },
    severity: SEVERITIES.find((severity) => severity === source.severity),
    ...{ fetches: Number(source.fetches), bytes: Number(source.size ?? 0), ms: Number(source.ms ?? 0) },
    ...{ without_bytes: Number(source.without_bytes), without_duration: Number(source.without_duration) },
  }))
}

/** Reports whether fetches are on the bill: of one operator, without those that only claim its name; undefined: of all. */
const isOnBill =
  (operator: string | undefined) =>
  (row: Row): boolean =>
    operator === undefined ? row.fate !== 'refused' : row.fate === 'charged' && row.operator === operator

const groupBy = <T>(rows: readonly T[], keyOf: (row: T) => string): [first: T, all: readonly T[]][] => {
  const groups = new Map<string, [T, T[]]>()
  for (const row of rows) {
    const group = groups.get(keyOf(row))
    if (group) group[1].push(row)
    else groups.set(keyOf(row), [row, [row]])
  }
  return [...groups.values()]
}

/** Reads one window of the bill: the dearest line first, spoofed fetches last. */
async function readBill(context: ReadContext, plan: Plan, operator: string | undefined) {
  const { site } = context
  const rows = await readRows(context, plan, 'agents')
  const given = await readGiven(context, plan)
  const lineOf = (name: LineName, of: readonly Row[]): Line => {
    const agents = groupBy(of, ({ source, operator }) => `${source.agent_id}\n${operator}\n${source.purpose}`)
      .map(([{ source }, all]): Agent => {
        const agent_id = String(source.agent_id)
        const { name } = context.agentNames(agent_id)
        return { ...charge(all, site), row: { agent_id, name, purpose: String(source.purpose) } }
      })
      .toSorted(byCost)
    return { ...name, ...addCharged(agents, site), ...(name.kind === 'operator' && given.by(name.operator)), agents }
  }
  const of = (fate: string) => rows.filter((row) => row.fate === fate)
  const isNamed = (row: Pick<Row, 'operator'>) => operator === undefined || row.operator === operator
  const isOther = ({ source }: Row) => source.agent_id === OTHER_AGENTS
  const catalogued = of('charged').filter((row) => !isOther(row))
  const names = new Set([...catalogued.map((row) => row.operator), ...given.operators])
  const lines = [...names]
    .filter((name) => isNamed({ operator: name }))
    .map((name) =>
      lineOf(
        { kind: 'operator', operator: name },
        catalogued.filter((row) => row.operator === name),
      ),
    )
  const nameless =
    operator === undefined
      ? [lineOf({ kind: 'no_operator' }, of('charged').filter(isOther)), lineOf({ kind: 'spoofed' }, of('spoofed'))]
      : []
  const all = [...lines, ...nameless]
    .filter(({ agents, kind }) => agents.length > 0 || kind === 'operator')
    .toSorted((a, b) => Number(a.kind === 'spoofed') - Number(b.kind === 'spoofed') || byCost(a, b))
  const [people = {}] = await context.rows(peopleTime(plan))
  const peopleMs = Number(people.ms ?? 0)
  const sum = (field: keyof Given) => all.reduce((n, line) => n + (line[field] ?? 0), 0)
  return {
    isRecorded: all.length > 0 || context.recorded(plan.window) !== 'none',
    lines: all,
    /** The line of an operator that took nothing. */
    emptyLine: (name: LineName) => lineOf(name, []),
    ...addCharged(all, site),
    ...{ readers: sum('readers'), ...(given.hasGoals && { goals: sum('goals') }) },
    refused: addTaken(of('refused').filter(isNamed)),
    spoofed: addTaken(of('spoofed').filter(isNamed)),
    peopleMs,
    /** Time of all fetches that no rule refused, and of people's pages. */
    allMs: peopleMs + addTaken(rows.filter(isOnBill(undefined))).ms,
    /** The fetches on the bill. */
    rows: rows.filter(isOnBill(operator)),
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
  const tally = (found: readonly ResultRow[]) => {
    const counts = new Map<string | undefined, number>()
    for (const { sender, n } of found) {
      const operator = owners.get(String(sender)) ?? ''
      counts.set(operator, (counts.get(operator) ?? 0) + Number(n))
    }
    return counts
  }
  const readers = tally(await rows(readersBySender(plan, senders)))
  const goals = tally(hasGoals ? await rows(goalsBySender(plan, senders)) : [])
  const by = (operator: string | undefined): Given => ({
    readers: readers.get(operator) ?? 0,
    ...(hasGoals && { goals: goals.get(operator) ?? 0 }),
  })
  return { by, operators: [...readers.keys()].flatMap((name) => name ?? []), hasGoals }
}

/** Lists the fetches on the bill that robots.txt disallowed: the most serious first. */
function listDisobedience(context: ReadContext, rows: readonly Row[]) {
  return groupBy(
    rows.filter(({ severity }) => severity !== undefined),
    ({ source, operator, fate }) => `${source.severity}\n${source.agent_id}\n${operator}\n${fate}`,
  )
    .map(([{ source, operator, fate, severity = 'unclear' }, all]) => {
      const agent_id = String(source.agent_id)
      const agent = { severity, agent_id, name: context.agentNames(agent_id).name, operator }
      return { ...charge(all, context.site), row: { ...agent, ...(fate === 'spoofed' && { spoofed: true }) } }
    })
    .toSorted(
      (a, b) =>
        SEVERITIES.indexOf(a.row.severity) - SEVERITIES.indexOf(b.row.severity) ||
        b.fetches - a.fetches ||
        (a.row.agent_id < b.row.agent_id ? -1 : 1),
    )
}

async function readBuckets(context: ReadContext, operator: string | undefined) {
  const { plan, site } = context
  const { window, tz, granularity } = plan
  const rows = (await readRows(context, plan, 'buckets')).filter(isOnBill(operator))
  const taken = new Map(
    groupBy(rows, ({ source }) => `${source.bucket}`).map(([{ source }, all]) => [Number(source.bucket), all]),
  )
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

/** Never infinite, and never 0 because a part of it is not known: without one, the reason. */
function costPerReader(kind: LineName['kind'], cost: bigint | undefined, readers = 0) {
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
