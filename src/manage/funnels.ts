import { z } from 'zod'
import { GOAL_TYPES, GoalMatch, parseGoalMatch } from '../analytics/query/goals.js'
import type { Records } from '../storage/store.js'
import { createCollection } from './collection.js'
import { JsonText, Name, omitNulls, recordFields, SiteId } from './fields.js'

const Step = z.strictObject({ label: Name, type: z.enum(GOAL_TYPES).exclude(['duration']), match: GoalMatch })
const shape = {
  name: Name,
  steps: z.array(Step).min(2, 'A funnel has 2 to 10 steps.').max(10, 'A funnel has 2 to 10 steps.'),
}
const Minutes = z.int().positive().max(129_600).describe('Longest time from the first step to the last; default any.')

/** A funnel as the API shows it. */
export const FunnelRecord = z.object({
  ...recordFields,
  ...shape,
  window_minutes: Minutes.optional(),
})
export type FunnelRecord = z.infer<typeof NewFunnel>

/** The body of `POST /api/funnels`. */
export const NewFunnel = z.strictObject({ site: SiteId, ...shape, window_minutes: Minutes.optional() })
/** The body of `PATCH /api/funnels/{id}`; null removes a field. */
export const FunnelChange = z.strictObject({ ...shape, window_minutes: Minutes.nullable() }).partial()

/** Returns the funnel with its steps in canonical names. Throws `validation_error`. */
export function normaliseFunnel(funnel: z.infer<typeof NewFunnel>): FunnelRecord {
  const steps = funnel.steps.map((step, i) => ({ ...step, match: parseGoalMatch(step, `steps[${i}].match`) }))
  return { ...funnel, steps }
}

const StoredFunnel = z
  .object({ ...FunnelRecord.shape, steps: JsonText.pipe(FunnelRecord.shape.steps), window_minutes: z.int().nullable() })
  .transform(omitNulls)

export const createFunnels = (records: Records) =>
  createCollection<FunnelRecord>(records, {
    table: 'funnels',
    label: 'funnel',
    maxPerSite: 100,
    stored: StoredFunnel,
    columns: ['steps', 'window_minutes'],
  })
