import { z } from 'zod'
import { SEARCH_SOURCES } from '../../base/search-sources.js'
import type { ResultRow } from '../../storage/store.js'
import {
  addCosts,
  addTaken,
  amountOf,
  costOf,
  hasBytes,
  hasDuration,
  hasPrices,
  NOTHING_TAKEN,
  type Prices,
  type Taken,
} from '../query/bill.js'
import {
  disallowedTaken,
  goalsBySender,
  peopleTime,
  readersBySender,
  takenByAgent,
  takenByBucket,
} from '../query/bill-rows.js'
import { listBuckets } from '../query/buckets.js'
import { withComparison } from '../query/comparison.js'
import { type Plan, withWindow } from '../query/plan.js'
import { defineRead } from '../query/read.js'
import { OTHER_AGENTS, type ReadContext } from '../query/read-context.js'
import { SEVERITIES } from '../query/violations.js'
import { Count, comparableRow, Fetches, Instant, Partial, Share } from './shapes.js'

const Cost = z
  .number()
  .nonnegative()
  .optional()
  .describe("At the site's prices of today, rounded to a millionth of `currency`. Absent without a price.")
const takenShape = {
  fetches: Fetches.optional().describe('Fetches without refused ones. Absent if nothing was recorded.'),
  bytes: Count.optional().describe('Body bytes sent. Absent if no row says its size.'),
  origin_seconds: z.number().nonnegative().optional().describe('Sum of durations. Absent if no row says its own.'),
  cost: Cost,
  without_bytes: Count.optional().describe(
    'Fetches without a size: GET, answered 200 or 206 with 0 bytes, as rows of logs and of other servers that do not say it. Absent: none.',
  ),
  without_duration: Count.optional().describe(
    'Fetches without a duration: 0 ms, as rows of logs and of other servers that do not say it. Absent: none.',
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
    const compare = (row: ResultRow, other: (bill: Bill) => ResultRow) =>
      then ? withComparison(row, then.isRecorded ? other(then) : {}, MAIN, then.isRecorded) : row
    const lines = now.lines.map((line) =>
      compare(lineFigures(line, now), ({ lines: others, emptyLine }) =>
        mainFigures(others.find(isSameLine(line)) ?? emptyLine(line)),
      ),
    )
    const disobedience = await readDisobedience(context, operator)
    warnOfBill(context, now)
    for (const name of MAIN) context.metrics.add(name)
    const data = {
      ...compare(now.isRecorded ? mainFigures(now) : {}, mainFigures),
      ...lacks(now.taken),
      ...{ currency, price_per_gigabyte, price_per_thousand_requests, price_per_origin_second },
      people_seconds: now.peopleMs / 1_000,
      ...{ refused_fetches: now.refused.fetches, refused_bytes: now.refused.bytes },
      ...{ spoofed_fetches: now.spoofed.fetches, spoofed_bytes: now.spoofed.bytes },
      disallowed_fetches: disobedience.reduce((sum, { taken }) => sum + taken.fetches, 0),
      ...money('disallowed_cost', addCosts(disobedience.map(({ cost }) => cost))),
      lines,
      ...(operator === undefined ? {} : { agents: now.lines.flatMap(({ agents }) => agents).map(agentFigures) }),
      disobedience: disobedience.map(({ row, ...charged }) => ({ ...row, ...takenFigures(charged) })),
      buckets: await readBuckets(context, operator),
    }
    return { data, rows: lines.length }
  },
})

interface Charged {
  readonly taken: Taken
  readonly cost: bigint | undefined
}
interface Given {
  readonly readers?: number
  readonly goals?: number
}
interface Agent extends Charged {
  readonly row: { readonly agent_id: string; readonly name: string; readonly purpose: string }
}
type LineName = Pick<z.output<typeof BillLine>, 'kind' | 'operator'>
interface Line extends Charged, Given {
  readonly name: LineName
  readonly agents: readonly Agent[]
}
/** One window of the bill. */
interface Bill extends Charged, Given {
  readonly isRecorded: boolean
  /** The dearest first; spoofed fetches last. */
  readonly lines: readonly Line[]
  emptyLine(line: Line): Line
  readonly refused: Taken
  readonly spoofed: Taken
  readonly peopleMs: number
  /** Time of all fetches that no rule refused, and of people's pages. */
  readonly allMs: number
}

const toTaken = (row: ResultRow): Taken => ({
  fetches: Number(row.fetches),
  bytes: Number(row.size ?? 0),
  ms: Number(row.ms ?? 0),
  without_bytes: Number(row.without_bytes),
  without_duration: Number(row.without_duration),
})
const sumOf = (all: readonly { taken: Taken }[]): Taken =>
  all.reduce((sum, { taken }) => addTaken(sum, taken), NOTHING_TAKEN)

async function readBill(context: ReadContext, plan: Plan, operator: string | undefined): Promise<Bill> {
  const { site } = context
  const fetched = (await context.rows(takenByAgent(plan))).map((row) => {
    const agent_id = String(row.agent_id)
    const { name } = context.agentNames(agent_id)
    const agent = { agent_id, name, purpose: String(row.purpose) }
    return { fate: row.fate, operator: String(row.operator), row: agent, ...charge(toTaken(row), site) }
  })
  const given = await readGiven(context, plan)
  const lineOf = (name: LineName, agents: readonly Agent[]): Line => ({
    name,
    agents,
    taken: sumOf(agents),
    cost: agents.length === 0 ? costOf(NOTHING_TAKEN, site) : addCosts(agents.map(({ cost }) => cost)),
    ...(name.operator === undefined ? {} : given(name.operator)),
  })
  const of = (fate: string) => fetched.filter((one) => one.fate === fate)
  const named = (one: { operator: string }) => operator === undefined || one.operator === operator
  const isOther = ({ row }: Agent) => row.agent_id === OTHER_AGENTS
  const charged = of('charged')
  const agentsOfCatalog = charged.filter((one) => !isOther(one))
  const operators = new Set([...agentsOfCatalog.map((one) => one.operator), ...given.operators])
  const lines = [
    ...[...operators]
      .filter((name) => named({ operator: name }))
      .map((name) =>
        lineOf(
          { kind: 'operator', operator: name },
          agentsOfCatalog.filter((one) => one.operator === name),
        ),
      ),
    ...(operator === undefined ? [lineOf({ kind: 'no_operator' }, charged.filter(isOther))] : []),
  ].toSorted(byCost)
  const spoofed = of('spoofed').filter(named)
  const spoofedLine = operator === undefined ? [lineOf({ kind: 'spoofed' }, spoofed)] : []
  const all = [...lines, ...spoofedLine].filter(({ agents, name }) => agents.length > 0 || name.kind === 'operator')
  const [people = {}] = await context.rows(peopleTime(plan))
  const peopleMs = Number(people.ms ?? 0)
  const sum = (field: 'readers' | 'goals') => all.reduce((n, line) => n + (line[field] ?? 0), 0)
  return {
    isRecorded: all.length > 0 || context.recorded(plan.window) !== 'none',
    lines: all,
    emptyLine: ({ name }) => lineOf(name, []),
    taken: sumOf(all),
    cost: all.length === 0 ? costOf(NOTHING_TAKEN, site) : addCosts(all.map(({ cost }) => cost)),
    readers: sum('readers'),
    ...(given.hasGoals ? { goals: sum('goals') } : {}),
    refused: sumOf(of('refused').filter(named)),
    spoofed: sumOf(spoofed),
    peopleMs,
    allMs: peopleMs + sumOf([...charged, ...of('spoofed')]).ms,
  }
}

const charge = (taken: Taken, prices: Prices): Charged => ({ taken, cost: costOf(taken, prices) })
const byCost = (a: Line, b: Line): number =>
  Number((b.cost ?? 0n) - (a.cost ?? 0n)) ||
  b.taken.bytes - a.taken.bytes ||
  b.taken.fetches - a.taken.fetches ||
  (b.readers ?? 0) - (a.readers ?? 0) ||
  ((a.name.operator ?? '') < (b.name.operator ?? '') ? -1 : 1)
const isSameLine =
  ({ name }: Line) =>
  (other: Line): boolean =>
    other.name.kind === name.kind && other.name.operator === name.operator

/** Returns the function that tells what an operator sent, and the operators that sent readers. */
async function readGiven({ rows, assistants }: ReadContext, plan: Plan) {
  const owners = new Map([...assistants, ...SEARCH_SOURCES].map(({ source, operator }) => [source, operator]))
  const hasGoals = (plan.goals ?? []).length > 0
  const senders = [...owners.keys()]
  const tally = (found: readonly ResultRow[], field: string) => {
    const counts = new Map<string, number>()
    for (const row of found) {
      const operator = owners.get(String(row.sender)) ?? ''
      counts.set(operator, (counts.get(operator) ?? 0) + Number(row[field]))
    }
    return counts
  }
  const readers = tally(await rows(readersBySender(plan, senders)), 'readers')
  const goals = hasGoals ? tally(await rows(goalsBySender(plan, senders)), 'goals') : undefined
  const given = (operator: string): Given => ({
    readers: readers.get(operator) ?? 0,
    ...(goals === undefined ? {} : { goals: goals.get(operator) ?? 0 }),
  })
  return Object.assign(given, { operators: [...readers.keys()], hasGoals })
}

async function readDisobedience(context: ReadContext, operator: string | undefined) {
  const { catalog, site, plan } = context
  const violations = (await context.rows(disallowedTaken(plan, { catalog, operator }))).map((row) => {
    const agent_id = String(row.agent_id)
    const severity = SEVERITIES.find((one) => one === row.severity) ?? 'unclear'
    return {
      row: {
        ...{ severity, agent_id, name: context.agentNames(agent_id).name, operator: String(row.operator) },
        ...(Number(row.spoofed) === 1 ? { spoofed: true } : {}),
      },
      ...charge(toTaken(row), site),
    }
  })
  const rank = ({ row }: (typeof violations)[number]) => SEVERITIES.indexOf(row.severity)
  return violations.toSorted(
    (a, b) => rank(a) - rank(b) || b.taken.fetches - a.taken.fetches || (a.row.agent_id < b.row.agent_id ? -1 : 1),
  )
}

async function readBuckets(context: ReadContext, operator: string | undefined) {
  const { plan, site } = context
  const { window, tz, granularity } = plan
  const taken = new Map(
    (await context.rows(takenByBucket(plan, operator))).map((row) => [Number(row.bucket), toTaken(row)]),
  )
  const buckets = listBuckets(window, tz, granularity)
  const parts = context.recordedBuckets(buckets, window, tz, granularity)
  return buckets.map(({ t, key }, i) => {
    const sums = taken.get(key)
    if (parts[i] === 'none' && sums === undefined) return { t: t.toISOString() }
    const partial = parts[i] === 'all' ? {} : { partial: true }
    return { t: t.toISOString(), ...partial, ...takenFigures(charge(sums ?? NOTHING_TAKEN, site)) }
  })
}

const money = (name: string, cost: bigint | undefined) => (cost === undefined ? {} : { [name]: amountOf(cost) })
const lacks = ({ without_bytes, without_duration }: Taken) => ({
  ...(without_bytes > 0 ? { without_bytes } : {}),
  ...(without_duration > 0 ? { without_duration } : {}),
})
const knownFigures = ({ taken, cost }: Charged) => ({
  fetches: taken.fetches,
  ...(hasBytes(taken) ? { bytes: taken.bytes } : {}),
  ...(hasDuration(taken) ? { origin_seconds: taken.ms / 1_000 } : {}),
  ...money('cost', cost),
})
const takenFigures = (of: Charged) => ({ ...knownFigures(of), ...lacks(of.taken) })
const mainFigures = ({ readers, goals, ...of }: Charged & Given) => ({
  ...knownFigures(of),
  ...(readers === undefined ? {} : { readers }),
  ...(goals === undefined ? {} : { goals }),
})
const agentFigures = ({ row, taken, cost }: Agent) => ({ ...row, ...takenFigures({ taken, cost }) })

function lineFigures(line: Line, { allMs }: Bill): ResultRow {
  const { name, taken, cost, readers } = line
  const share = hasDuration(taken) && allMs > 0 ? { share: taken.ms / allMs } : {}
  return { ...name, ...mainFigures(line), ...lacks(taken), ...share, ...costPerReader(name, cost, readers) }
}

/** Never infinite, and never 0 because a part of it is not known: without one, the reason. */
function costPerReader({ kind }: LineName, cost: bigint | undefined, readers = 0) {
  if (kind !== 'operator') return { no_cost_per_reader: 'no_operator' }
  if (cost === undefined) return { no_cost_per_reader: 'no_prices' }
  if (readers === 0) return { no_cost_per_reader: 'no_reader_came' }
  return { cost_per_reader: Math.round(Number(cost) / readers) / 1_000_000 }
}

function warnOfBill({ warn, site }: ReadContext, { taken, goals }: Bill): void {
  if (!hasPrices(site)) {
    const message = 'Set a price per gigabyte, request or second to see costs.'
    warn({ metric: 'cost', code: 'no_prices', message })
  }
  if (goals === undefined) warn({ metric: 'goals', code: 'no_goals', message: 'The site has no goals.' })
  const { without_bytes, without_duration } = taken
  const leftOut = (n: number, what: string) =>
    `${n} fetches say no ${what} and add none: rows of logs and of other servers that do not record it.`
  if (without_bytes > 0) warn({ metric: 'bytes', code: 'bytes_not_recorded', message: leftOut(without_bytes, 'size') })
  if (without_duration > 0)
    warn({ metric: 'origin_seconds', code: 'durations_not_recorded', message: leftOut(without_duration, 'duration') })
  const message =
    'Readers are those whose arrival names the operator; native apps name none, so cost per reader is an upper bound.'
  warn({ metric: 'readers', code: 'readers_are_a_floor', message })
}
