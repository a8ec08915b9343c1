import { z } from 'zod'
import { ApiError } from '../../../../base/errors.js'
import { raw, type Sql, sql } from '../../../../storage/sql.js'
import { countEveryone, type Funnel, type FunnelUnit, stepsReached } from '../../../query/funnels.js'
import type { Plan } from '../../../query/plan.js'
import { defineRead } from '../../../query/read.js'
import { peopleOnly } from '../../../query/read-audience.js'
import type { ReadContext } from '../../../query/read-context.js'
import { Count, comparableRow, Share, Visits } from '../../shapes.js'

const countShapes = {
  sessions: Visits.optional(),
  visitors: Count.optional().describe('Distinct people.'),
}

/**
 * GET /api/stats/funnel/{id}: how far matching sessions came, or with `per=visitor` the visitors over all their
 * matching sessions. `rate` is the share of those at the first step; `drop_off` is the share of those at the previous
 * step that did not reach this one, absent at the first. With `step`, `behind` has a page of ids, latest first, that
 * reached the step, or dropped off before it.
 */
export default defineRead({
  path: '/api/stats/funnel/{id}',
  summary: 'Steps of a funnel, and where sessions drop off',
  params: {
    per: z
      .enum(['session', 'visitor'])
      .default('session')
      .describe('The hits that form a chain: of a session or of a visitor; default `session`.'),
    step: z
      .string()
      .regex(/^([1-9]|10)$/, 'must be the number of a step')
      .transform(Number)
      .optional()
      .meta({ type: 'integer', minimum: 1, maximum: 10 })
      .describe('A step, from 1, whose ids to list.'),
    outcome: z
      .enum(['reached', 'dropped'])
      .default('reached')
      .describe('The ids that reached `step`, or those that reached only the step before.'),
  },
  list: true,
  audience: peopleOnly('/api/agents/breakdown?dimension=pathname'),
  data: comparableRow({
    id: z.int(),
    name: z.string(),
    ...countShapes,
    steps: z
      .array(comparableRow({ label: z.string(), ...countShapes, drop_off: Share.optional(), rate: Share.optional() }))
      .optional()
      .describe('Absent for agents, which have no sessions.'),
    behind: z.array(z.string()).optional().describe('Ids of sessions, or with `per=visitor` of visitors.'),
  }),
  run: async (context, { per, step, outcome }, words) => {
    const funnel = await findFunnel(context, words.id)
    const { id, name, steps } = funnel
    if (step !== undefined) checkStep(funnel, step, outcome)
    const metrics = [`${per}s`, 'drop_off', 'rate']
    const listed = await context.list({ key: 'step', order: ['step'], metrics, limit: steps.length + 1 }, (plan) =>
      stepCounts(funnel, per, plan),
    )
    const [all, ...rows] = listed.map(({ step: _, ...counts }) => counts)
    const only = (value: unknown) =>
      Object.fromEntries(Object.entries(Object(value)).filter(([key]) => key === `${per}s`))
    const whole = {
      ...only(all),
      ...(all?.comparison ? { comparison: only(all.comparison), change: only(all.change) } : {}),
    }
    const behind = step === undefined ? {} : { behind: await idsAtStep(context, funnel, per, step, outcome) }
    return {
      data: { id, name, ...whole, steps: steps.map(({ label }, i) => ({ label, ...rows[i] })), ...behind },
      rows: behind.behind?.length ?? steps.length,
    }
  },
  runForAgents: async (context, _, words) => {
    const { id, name } = await findFunnel(context, words.id)
    return { data: { id, name }, rows: 0 }
  },
})

async function findFunnel(context: ReadContext, id = ''): Promise<Funnel> {
  const funnel = await context.funnel(id)
  if (!funnel) throw new ApiError('not_found', 'Funnel not found.')
  return funnel
}

function checkStep({ steps }: Funnel, step: number, outcome: 'reached' | 'dropped'): void {
  if (step > steps.length) throw new ApiError('validation_error', `The funnel has ${steps.length} steps.`, 'step')
  if (step === 1 && outcome === 'dropped')
    throw new ApiError('validation_error', 'No session can drop off before the first step.', 'outcome')
}

/** Selects `step, <unit>s, drop_off, rate`; step 0 is everyone. */
function stepCounts(funnel: Funnel, per: FunnelUnit, plan: Plan): Sql {
  const numbers = sql`(${funnel.steps.map((_, i) => sql`select ${i + 1} as step`).reduce((a, b) => sql`${a} union all ${b}`)})`
  const n = raw(`${per}s`)
  return sql`
    select step, ${n}, case when step > 1 and earlier > 0 then (earlier - ${n}) * 1.0 / earlier end as drop_off,
      case when step > 0 and entered > 0 then ${n} * 1.0 / entered end as rate
    from (select *, lag(${n}) over (order by step) as earlier, max(case when step = 1 then ${n} end) over () as entered
      from (select 0 as step, ${countEveryone(per, plan)} as ${n}
        union all select s.step, count(r.id) as ${n}
          from ${numbers} s left join (${stepsReached(funnel, per, plan)}) r on r.step = s.step group by s.step) c) d`
}

async function idsAtStep(
  context: ReadContext,
  funnel: Funnel,
  per: FunnelUnit,
  step: number,
  outcome: 'reached' | 'dropped',
) {
  const last = outcome === 'reached' ? sql`max(step) >= ${step}` : sql`max(step) = ${step - 1}`
  const sessionsOfStep = await context.list(
    { key: 'id', order: ['started desc'], metrics: [], compare: false },
    (plan) => sql`
    select id, max(started) as started from (${stepsReached(funnel, per, plan)}) r group by id having ${last}`,
  )
  return sessionsOfStep.map(({ id }) => String(id))
}
