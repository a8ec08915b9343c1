import type { z } from 'zod'

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}
const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'an ISO-8601 instant such as 2026-11-21T08:00:00.000Z',
  url: 'a URL',
}

/** The predicate of the sentence about an issue: `must be a string`. */
export function expectation(issue: z.core.$ZodIssue | undefined, whole: unknown): string {
  if (issue === undefined) return 'is not valid'
  const value = issue.path.reduce<unknown>((v, key) => (isRecord(v) ? v[key] : undefined), whole)
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined ? 'is required' : `must be ${TYPES[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      if (value === undefined) return 'is required'
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`
    case 'too_big':
      return sizeBound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)
    case 'too_small':
      if (issue.origin === 'string' && issue.minimum === 1) return 'must not be empty'
      return sizeBound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum)
    case 'invalid_format':
      return `must be ${FORMATS[issue.format] ?? 'in the expected form'}`
    case 'unrecognized_keys':
      return 'is not a known field'
    case 'invalid_union':
      return value === undefined ? 'is required' : 'has none of the accepted forms'
    default:
      return 'is not valid'
  }
}

const sizeBound = (origin: string, bound: string, size: number | bigint): string => {
  if (origin === 'string') return `must have ${bound} ${size} characters`
  return origin === 'array' ? `must have ${bound} ${size} items` : `must be ${bound} ${size}`
}

const isRecord = (value: unknown): value is Readonly<Record<PropertyKey, unknown>> =>
  typeof value === 'object' && value !== null
