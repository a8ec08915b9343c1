import { z } from 'zod'
import { GOAL_TYPES, GoalMatch } from '../../src/analytics/query/goals.js'
import type { Goal } from './filter-match.js'
import type { Funnel } from './goal-reads.js'

const matchOf = (op: string, value?: unknown) => ({ op, ...(value === undefined ? {} : { value }) })
/** Goals of every type. Purchases are in several currencies; one whose amount is not a number earns nothing. */
export const GOALS: readonly Goal[] = [
  { id: 7, name: 'read the docs', type: 'page', match: matchOf('matches_wildcard', '/docs/**') },
  { id: 3, name: 'home', type: 'page', match: matchOf('is', ['/', '/pricing']) },
  {
    id: 4,
    name: 'pro',
    type: 'event',
    match: { ...matchOf('is', 'signup'), props: [{ key: 'plan', ...matchOf('is', 'pro') }] },
  },
  {
    ...{ id: 5, name: 'bought', type: 'event', match: matchOf('starts_with', 'purch') },
    revenue: { property: 'value', currency: 'CHF' },
  },
  { id: 6, name: "it's out", type: 'outbound', match: matchOf('contains', 'a.example') },
  { id: 8, name: '3', type: 'file_download', match: matchOf('is_set') },
  { id: 9, name: 'letter', type: 'form', match: matchOf('is_not', 'contact') },
  { id: 10, name: 'deep', type: 'scroll', match: matchOf('gte', 75) },
  {
    id: 11,
    name: 'docs, deep',
    type: 'scroll',
    match: { ...matchOf('gt', 50), pathname: matchOf('starts_with', '/docs') },
  },
  { id: 13, name: 'any form', type: 'form', match: matchOf('is_set') },
  { id: 12, name: 'long', type: 'duration', match: matchOf('gte', 300) },
]
const step = (label: string, type: string, match: Goal['match']) => ({ label, type, match })
export const FUNNELS: readonly Funnel[] = [
  {
    ...{ id: 1, name: 'home to docs' },
    steps: [step('home', 'page', matchOf('is', '/')), step('docs', 'page', matchOf('starts_with', '/docs'))],
  },
  {
    ...{ id: 2, name: 'in five minutes', window_minutes: 5 },
    steps: [
      step('any', 'page', matchOf('starts_with', '/')),
      step('again', 'page', matchOf('starts_with', '/')),
      step('deep', 'scroll', matchOf('gte', 10)),
      step('any event', 'event', matchOf('is_set')),
    ],
  },
  {
    ...{ id: 3, name: 'the same four times, in a day', window_minutes: 1440 },
    steps: ['a', 'b', 'c', 'd'].map((label) => step(label, 'page', matchOf('is_not', '/docs'))),
  },
]

/** Goals and funnels as the reads take them, checked like those of a request. */
export function storedGoals(goals: readonly unknown[], funnels: readonly unknown[]) {
  const read = z.array(StoredGoal).parse(goals)
  const all = z.array(StoredFunnel).parse(funnels)
  return {
    goals: async () => read,
    funnel: async (id: string) => all.find((each) => String(each.id) === id),
  }
}
const STORED_CONDITION = { type: z.enum(GOAL_TYPES), match: GoalMatch }
const StoredGoal = z.object({
  ...{ ...STORED_CONDITION, id: z.int(), name: z.string() },
  revenue: z.object({ property: z.string(), currency: z.string() }).optional(),
})
const StoredFunnel = z.object({
  ...{ id: z.int(), name: z.string(), window_minutes: z.number().optional() },
  steps: z.array(z.object({ ...STORED_CONDITION, label: z.string() })),
})
