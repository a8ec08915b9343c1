import { type Dialect, foldCase, isIn, join, raw, type Sql, sql } from '../../storage/sql.js'
import type { Condition, Filter } from './filters.js'
import { operatorNamed } from './operators.js'
import { folderOf, SectionPattern } from './section-pattern.js'

/** The name of the dimension. */
export const SECTION = 'section'

/**
 * Replaces every condition on `section` by conditions on the path, so that whatever filters by path filters by section. The
 * patterns are tried in their order, and the first that fits decides.
 */
export function resolveSections(filters: readonly Filter[], sections: readonly string[]): Filter[] {
  const one = (f: Filter): Filter => {
    if ('and' in f) return { and: f.and.map(one) }
    if ('or' in f) return { or: f.or.map(one) }
    if ('not' in f) return { not: one(f.not) }
    if ('has_done' in f) return { has_done: one(f.has_done) }
    if ('has_not_done' in f) return { has_not_done: one(f.has_not_done) }
    return 'dimension' in f && f.dimension === SECTION ? sectionFilter(f, sections) : f
  }
  return filters.map(one)
}

function sectionFilter(c: Condition, sections: readonly string[]): Filter {
  const { base, negative } = operatorNamed(c.op)
  const asked = valuesOf(c)
  // A section that was found may be found no longer. A saved filter on it goes on to mean the same paths, so that a link that
  // hides them does not show them one day.
  const unlisted = base === 'is' ? [...new Set(asked)].filter((one) => !sections.includes(one) && isPattern(one)) : []
  const positive = firstFitting([...sections, ...unlisted], (name) => holdsFor(name, c)) ?? NOTHING
  return negative ? { not: positive } : positive
}

const valuesOf = ({ value }: Condition): string[] =>
  (value === undefined ? [] : typeof value === 'object' ? [...value] : [value]).map(String)

const isPattern = (text: string): boolean => {
  const parsed = SectionPattern.safeParse(text)
  return parsed.success && parsed.data === text
}

/** No path passes it, and no page at which a session did not begin. */
const NOTHING: Filter = {
  and: [
    { dimension: 'pathname', op: 'is_set' },
    { dimension: 'pathname', op: 'is_not_set' },
  ],
}

/** Whether a condition, its negation apart, holds for a section's name: a filter if only the engine may decide it. */
function holdsFor(name: string, c: Condition): boolean | Filter {
  const { base } = operatorNamed(c.op)
  const fold = (text: string) => (c.case_sensitive === false ? foldCase(text) : text)
  const some = (test: (own: string, text: string) => boolean) =>
    valuesOf(c).some((text) => test(fold(name), fold(text)))
  switch (base) {
    case 'is':
      return some((own, text) => own === text)
    case 'contains':
      return some((own, text) => own.includes(text))
    case 'starts_with':
      return some((own, text) => own.startsWith(text))
    case 'ends_with':
      return some((own, text) => own.endsWith(text))
    case 'matches':
    case 'matches_wildcard':
      return { ...c, dimension: 'pathname', op: base, literal: name }
    default:
      return true
  }
}

/** Selects the paths whose first fitting pattern is taken; undefined: none is. It grows with the list, not with its square. */
function firstFitting(patterns: readonly string[], isTaken: (name: string) => boolean | Filter): Filter | undefined {
  let rest: Filter | undefined
  for (const { names, taken } of joinRuns(patterns, isTaken).toReversed()) {
    const fitting = fitsAny(names)
    const others: Filter | undefined = rest && { and: [{ not: fitting }, rest] }
    if (taken === true) rest = rest ? { or: [fitting, rest] } : fitting
    else if (taken === false) rest = others
    else rest = others ? { or: [{ and: [fitting, taken] }, others] } : { and: [fitting, taken] }
  }
  return rest
}

interface Run {
  readonly names: string[]
  readonly taken: boolean | Filter
}

/**
 * Joins neighbours that are decided alike. No path is in two folders, so folders side by side may change places: those that
 * are taken come first, and the others need not be looked at.
 */
function joinRuns(patterns: readonly string[], isTaken: (name: string) => boolean | Filter): Run[] {
  const runs: Run[] = []
  for (const side of sideBySide(patterns)) {
    const decided = side.map((name) => ({ name, taken: isTaken(name) }))
    const sorted = [
      ...decided.filter(({ taken }) => taken !== false),
      ...decided.filter(({ taken }) => taken === false),
    ]
    for (const { name, taken } of sorted) {
      const last = runs.at(-1)
      if (typeof taken === 'boolean' && last?.taken === taken) last.names.push(name)
      else runs.push({ names: [name], taken })
    }
  }
  return runs
}

/** Cuts the list into parts: each is one pattern, or folders that stand side by side. */
function sideBySide(patterns: readonly string[]): string[][] {
  const parts: string[][] = []
  let folders: string[] | undefined
  for (const pattern of patterns) {
    if (folderOf(pattern) === undefined) {
      folders = undefined
      parts.push([pattern])
    } else if (folders) folders.push(pattern)
    else {
      folders = [pattern]
      parts.push(folders)
    }
  }
  return parts
}

/** Selects the paths that one of these patterns fits. */
function fitsAny(patterns: readonly string[]): Filter {
  const exact: string[] = []
  const prefixes: string[] = []
  const wildcards: string[] = []
  for (const pattern of patterns) {
    const [before = '', ...more] = pattern.split('*')
    if (more.length === 0) exact.push(pattern)
    else if (more.length === 1 && more[0] === '') {
      prefixes.push(before)
      if (before.length > 1 && before.endsWith('/')) exact.push(before.slice(0, -1))
    } else {
      const crossing = (text: string) => text.replaceAll('*', '**')
      wildcards.push(crossing(pattern), ...(pattern.endsWith('/*') ? [crossing(pattern.slice(0, -2))] : []))
    }
  }
  const condition = (op: 'is' | 'starts_with' | 'matches_wildcard', value: string[]): Filter[] =>
    value.length === 0 ? [] : [{ dimension: 'pathname', op, value }]
  const conditions = [
    ...condition('is', exact),
    ...condition('starts_with', prefixes),
    ...condition('matches_wildcard', wildcards),
  ]
  return conditions.length === 1 && conditions[0] ? conditions[0] : { or: conditions }
}

/** The section of a path in SQL; null: it is in none. `fits` writes a filter as a condition on that column. */
export function sectionColumn(
  sections: readonly string[],
  path: Sql,
  dialect: Dialect,
  fits: (filter: Filter) => Sql,
): Sql {
  if (sections.length === 0) return raw('cast(null as varchar)')
  const folder = sql`concat('/', ${dialect.textBefore(sql`substr(${path}, 2)`, '/')}, '/*')`
  const cases = sideBySide(sections).map((part) => {
    const [first = ''] = part
    return folderOf(first) === undefined
      ? sql`when ${fits(fitsAny(part))} then ${first}`
      : sql`when ${isIn(folder, part)} then ${folder}`
  })
  return sql`case ${join(cases, ' ')} end`
}
