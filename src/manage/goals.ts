import { z } from 'zod'
import { GOAL_TYPES, GoalMatch, parseGoalMatch } from '../analytics/query/goals.js'
import type { Records } from '../storage/store.js'
import { createCollection } from './collection.js'
import { JsonText, Name, omitNulls, recordFields, SiteId } from './fields.js'

const Revenue = z.strictObject({
  property: z.string().min(1).max(200).describe('The property of the hit that holds the amount.'),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'A currency is three capital letters, such as EUR.')
    .describe('ISO 4217, for hits without a `currency` of their own.'),
})
const shape = { name: Name, type: z.enum(GOAL_TYPES), match: GoalMatch }

/** A goal as the API shows it. */
export const GoalRecord = z.object({ ...recordFields, ...shape, revenue: Revenue.optional() })
export type GoalRecord = z.infer<typeof NewGoal>

/** The body of `POST /api/goals`, before `normaliseGoal`. */
export const NewGoal = z.strictObject({
  site: SiteId,
  ...shape,
  match: GoalMatch.default({ op: 'is_set' }).describe('Without it, every hit of the type counts.'),
  revenue: Revenue.optional(),
})
/** The body of `PATCH /api/goals/{id}`; null removes a field. */
export const GoalChange = z.strictObject({ ...shape, revenue: Revenue.nullable() }).partial()

/** Returns the goal in canonical names. Throws `validation_error` if its parts do not fit together. */
export const normaliseGoal = (goal: z.infer<typeof NewGoal>): GoalRecord => ({ ...goal, match: parseGoalMatch(goal) })

const StoredGoal = z
  .object({ ...GoalRecord.shape, match: JsonText.pipe(GoalMatch), revenue: JsonText.pipe(Revenue).nullable() })
  .transform(omitNulls)

export const createGoals = (records: Records) =>
  createCollection<GoalRecord>(records, {
    table: 'goals',
    label: 'goal',
    maxPerSite: 100,
    stored: StoredGoal,
    columns: ['type', 'match', 'revenue'],
  })
