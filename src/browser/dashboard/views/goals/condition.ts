import type { DataOf } from '../../client/index.js'

/** A goal in the form of the API. */
export type GoalRecord = DataOf<'/api/goals'>[number]
export type Match = GoalRecord['match']
export type GoalType = GoalRecord['type']
type Value = Match['value']

/** The act of people that a goal or a funnel's step looks for. */
export interface Condition {
  type: GoalType
  match: Match
}

export const GOAL_TYPES: readonly GoalType[] = [
  'page',
  'event',
  'outbound',
  'file_download',
  'form',
  'scroll',
  'duration',
]

/** The operators that texts of goals are compared with, the usual ones first. */
export const OPERATORS = [
  'is',
  'starts_with',
  'contains',
  'ends_with',
  'matches_wildcard',
  'matches',
  'is_not',
  'contains_not',
  'is_set',
] as const

/** Types that compare a number: the scroll depth in percent, the length of a visit in seconds. */
export const isNumeric = (type: GoalType): boolean => type === 'scroll' || type === 'duration'

const START: Record<GoalType, Match> = {
  page: { op: 'is', value: '/' },
  event: { op: 'is', value: '' },
  outbound: { op: 'contains', value: '' },
  file_download: { op: 'ends_with', value: '.pdf' },
  form: { op: 'is_set' },
  scroll: { op: 'gte', value: 75 },
  duration: { op: 'gte', value: 60 },
}

/** A new condition of a type, with what people mean most often. */
export const blank = (type: GoalType): Condition => ({ type, match: { ...START[type] } })

/** Writes one value per line. */
export const valueText = (value: Value): string => (Array.isArray(value) ? value.join('\n') : `${value ?? ''}`)

/** Reads one value per line; several are a list of which any matches. */
export function readValue(text: string): string | string[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.length > 1 ? lines : (lines[0] ?? '')
}
