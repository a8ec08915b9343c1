import { z } from 'zod'
import { GOAL_TYPES, GoalMatch, parseGoalMatch } from '../query/goals.js'
import type { Records } from '../store.js'
import { type Collection, createCollection, JsonText, Name, SiteId, Version } from './collection.js'

const Revenue = z.strictObject({
  property: z.string().min(1).max(200).describe('The property of the hit that holds the amount.'),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'A currency is three capital letters.')
    .describe('ISO 4217, for hits without a `currency` of their own.'),
})
const shape = { name: Name, type: z.enum(GOAL_TYPES), match: GoalMatch }

/** A goal as the API shows it (contract 7). */
export const Goal = z.object({ id: z.int(), version: Version, site: z.int(), ...shape, revenue: Revenue.optional() })
export type Goal = z.infer<typeof NewGoal>

/** The body of `POST /api/goals`: `finished` has to say yes to it yet. */
export const NewGoal = z.strictObject({ site: SiteId, ...shape, revenue: Revenue.optional() })
/** The body of `PATCH /api/goals/{id}`; null takes away. */
export const GoalChange = z.strictObject({ ...shape, revenue: Revenue.nullable() }).partial()

/** A goal whose parts fit together, in canonical names. Throws `validation_error`. */
export function normaliseGoal(goal: z.infer<typeof NewGoal>): Goal {
  return { ...goal, match: parseGoalMatch(goal) }
}

const StoredGoal = z.object({
  ...Goal.shape,
  match: JsonText.pipe(GoalMatch),
  revenue: JsonText.pipe(Revenue).nullable(),
})

/** The goals of this instance's sites, over its records. */
export const createGoals = (records: Records): Collection<Goal> =>
  createCollection<Goal>(records, {
    ...{ table: 'goals', label: 'goal', maxPerSite: 100 },
    fromRow(row) {
      const { revenue, ...goal } = StoredGoal.parse(row)
      return revenue ? { ...goal, revenue } : goal
    },
    toColumns: ({ type, match, revenue }) => ({
      type,
      match: JSON.stringify(match),
      revenue: revenue ? JSON.stringify(revenue) : null,
    }),
  })
