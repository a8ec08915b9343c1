import { z } from 'zod'
import { GOAL_TYPES, Match } from '../../src/query/goals.js'
import type { Funnel } from './goals.js'
import type { Goal } from './judge.js'

const said = (op: string, value?: unknown) => ({ op, ...(value === undefined ? {} : { value }) })
/** Of every type; what is bought is paid in several currencies, and a purchase with an amount that is none earns nothing. */
export const GOALS: readonly Goal[] = [
  { id: 7, name: 'read the docs', type: 'page', match: said('matches_wildcard', '/docs/**') },
  { id: 3, name: 'home', type: 'page', match: said('is', ['/', '/pricing']) },
  {
    id: 4,
    name: 'pro',
    type: 'event',
    match: { ...said('is', 'signup'), props: [{ key: 'plan', ...said('is', 'pro') }] },
  },
  {
    ...{ id: 5, name: 'bought', type: 'event', match: said('starts_with', 'purch') },
    revenue: { property: 'value', currency: 'CHF' },
  },
  { id: 6, name: "it's out", type: 'outbound', match: said('contains', 'a.example') },
  { id: 8, name: '3', type: 'file_download', match: said('is_set') },
  { id: 9, name: 'letter', type: 'form', match: said('is_not', 'contact') },
  { id: 10, name: 'deep', type: 'scroll', match: said('gte', 75) },
  { id: 11, name: 'docs, deep', type: 'scroll', match: { ...said('gt', 50), pathname: said('starts_with', '/docs') } },
  { id: 12, name: 'long', type: 'duration', match: said('gte', 300) },
]
const step = (label: string, type: string, match: Goal['match']) => ({ label, type, match })
export const FUNNELS: readonly Funnel[] = [
  {
    ...{ id: 1, name: 'home to docs' },
    steps: [step('home', 'page', said('is', '/')), step('docs', 'page', said('starts_with', '/docs'))],
  },
  {
    ...{ id: 2, name: 'in five minutes', window_minutes: 5 },
    steps: [
      step('any', 'page', said('starts_with', '/')),
      step('again', 'page', said('starts_with', '/')),
      step('deep', 'scroll', said('gte', 10)),
      step('any event', 'event', said('is_set')),
    ],
  },
  {
    ...{ id: 3, name: 'the same four times, in a day', window_minutes: 1440 },
    steps: ['a', 'b', 'c', 'd'].map((label) => step(label, 'page', said('is_not', '/docs'))),
  },
]

/** Goals and funnels as the reads take them: checked as what a request brings. */
export function kept(goals: readonly unknown[], funnels: readonly unknown[]) {
  const read = z.array(KeptGoal).parse(goals)
  const all = z.array(KeptFunnel).parse(funnels)
  return {
    goals: async () => read,
    funnel: async (id: string) => all.find((each) => String(each.id) === id),
  }
}
const Kept = { type: z.enum(GOAL_TYPES), match: Match }
const KeptGoal = z.object({
  ...{ ...Kept, id: z.int(), name: z.string() },
  revenue: z.object({ property: z.string(), currency: z.string() }).optional(),
})
const KeptFunnel = z.object({
  ...{ id: z.int(), name: z.string(), window_minutes: z.number().optional() },
  steps: z.array(z.object({ ...Kept, label: z.string() })),
})
