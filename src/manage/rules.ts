import { z } from 'zod'
import type { Catalog } from '../agents/catalog.js'
import { ApiError } from '../base/errors.js'
import { findRuleProblem } from '../rules/check.js'
import { countPaths, DecidingRule, MAX_PATHS_OF_SITE, ruleFields } from '../rules/rule.js'
import { type Sql, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { type Author, AuthorColumn } from './author.js'
import { type CollectionWrite, createCollection, type WithId } from './collection.js'
import { JsonText, Name, recordFields, SiteId } from './fields.js'
import { ruleNoteStatements } from './rule-notes.js'
import type { Dependent } from './table-cache.js'

const Position = z
  .int()
  .min(1)
  .max(1_000_000)
  .describe('The place in the list, from 1: the first rule that matches decides. Beyond the end means the end.')
/** The place of a rule that is not in the list: after every other. */
const LAST = 1_000_000

/** A rule as the API shows it. */
export const RuleView = z.object({
  ...recordFields,
  name: z.string(),
  position: z.int().describe('The place in the list, from 1: the first rule that matches decides.'),
  ...DecidingRule.omit({ id: true, name: true }).shape,
  ended: z.literal(true).optional().describe('`until` has passed: the rule counts as off.'),
  changed_at: z.iso.datetime(),
  changed_by: z
    .string()
    .describe("A person's e-mail address, the prefix of an API key, `operator`, or `deleted account`."),
})

/** The body of `POST /api/rules`. */
export const NewRule = z.strictObject({ site: SiteId, name: Name, position: Position.optional(), ...ruleFields })
export type NewRule = z.output<typeof NewRule>

/** Returns the field of a change for one of a new rule: without its default, or nullable, because null removes it. */
function toChange(field: z.ZodType): z.ZodType {
  if (field instanceof z.ZodOptional) return field.nullable()
  if (!(field instanceof z.ZodDefault)) return field
  const inner = z.instanceof(z.ZodType).parse(field.unwrap())
  return field.description === undefined ? inner : inner.describe(field.description)
}

/** The body of `PATCH /api/rules/{id}`; null removes a field. */
export const RuleChange = z
  .strictObject({
    name: Name,
    position: Position,
    ...Object.fromEntries(Object.entries(ruleFields).map(([name, field]) => [name, toChange(field)])),
  })
  .partial()

/** The fields of a rule that its author sets, but for its name and place: one column. */
const Definition = DecidingRule.omit({ id: true, name: true })

/** A rule as it is stored. */
export interface Rule extends z.output<typeof Definition> {
  readonly site: number
  readonly name: string
  readonly position: number
  readonly changed_at: Date
  readonly changed_by: Author
}
export type StoredRule = WithId<Rule>

const RuleRow = z
  .object({
    ...recordFields,
    name: z.string(),
    position: z.int(),
    definition: JsonText.pipe(Definition),
    changed_at: z.date(),
    changed_by: AuthorColumn,
  })
  .transform(({ definition, ...row }): StoredRule => ({ ...row, ...definition }))

/** Returns a rule as it is stored: without repeated names, and its end in UTC. */
export const normaliseRule = (
  { site, name, position = LAST, until, ...given }: NewRule,
  changed: Pick<Rule, 'changed_at' | 'changed_by'>,
): Rule => ({
  ...{ site, name, position, ...changed },
  ...Definition.parse(
    Object.fromEntries(
      Object.entries(given).map(([field, value]) => [
        field,
        Array.isArray(value) ? [...new Set<unknown>(value)] : value,
      ]),
    ),
  ),
  ...(until !== undefined && { until: new Date(until).toISOString() }),
})

export type Rules = ReturnType<typeof createRules>

/** The rules of all sites. Each site has a list, in the order in which its rules decide. */
export const createRules = (records: Records, catalog: Catalog, ...dependents: readonly Dependent[]) =>
  createCollection<Rule>(
    records,
    {
      table: 'rules',
      label: 'rule',
      maxPerSite: 1_000,
      order: sql`site, position, id`,
      stored: RuleRow,
      columns: ({ position, changed_at, changed_by, ...rule }) => ({
        ...{ position, changed_at, changed_by, definition: Definition.parse(rule) },
      }),
      stamps: ['changed_at', 'changed_by'],
      prepare(given, others, current) {
        const rule = { ...given, position: Math.min(given.position, others.length + 1) }
        const fields = current && listChanged(current, rule)
        // The catalogue may have changed since: a rule can be moved and switched off all the same.
        const isSafe = fields?.every((name) => name === 'position' || (name === 'state' && rule.state === 'off'))
        if (!isSafe) checkRule(rule, others, catalog, current)
        return rule
      },
      describe: describeWrite,
      along: ({ id, record, before, after }, { at }) => [
        ...shift(record.site, before?.position ?? LAST, after?.position ?? LAST, id),
        ...ruleNoteStatements({ id, record, before, after, at }),
      ],
    },
    ...dependents,
  )

const fieldsOf = ({ name, position, ...rule }: Rule): Record<string, unknown> => ({
  name,
  ...Definition.parse(rule),
  position,
})

const listChanged = (before: Rule, after: Rule): string[] => {
  const [was, is] = [fieldsOf(before), fieldsOf(after)]
  return Object.keys({ ...was, ...is }).filter((name) => JSON.stringify(was[name]) !== JSON.stringify(is[name]))
}

/** Returns the fields that differ, as they were and as they are; all of a new and of a deleted rule. */
function describeWrite({ before, after }: CollectionWrite<Rule>): object {
  if (!before || !after)
    return { ...(before && { before: fieldsOf(before) }), ...(after && { after: fieldsOf(after) }) }
  const names = listChanged(before, after)
  const pick = (fields: Record<string, unknown>) =>
    Object.fromEntries(names.map((name) => [name, fields[name] ?? null]))
  return { before: pick(fieldsOf(before)), after: pick(fieldsOf(after)) }
}

/** Throws if a rule cannot be stored beside the site's other ones. */
function checkRule(rule: Rule, others: readonly StoredRule[], catalog: Catalog, current?: StoredRule): void {
  const problem = findRuleProblem({ ...rule, id: 0 }, catalog, current)
  if (problem) throw new ApiError('validation_error', problem.message, problem.field)
  if (countPaths([rule, ...others]) > MAX_PATHS_OF_SITE)
    throw new ApiError('conflict', `The rules of a site may have at most ${MAX_PATHS_OF_SITE} paths.`, 'paths')
}

/** Returns the statements that move the other rules between two places of a rule. */
function shift(site: number, from: number, to: number, id: number | Sql): Sql[] {
  if (from === to) return []
  const others = sql`where site = ${site} and id <> ${id} and position`
  return from > to
    ? [sql`update rules set position = position + 1 ${others} >= ${to} and position < ${from}`]
    : [sql`update rules set position = position - 1 ${others} > ${from} and position <= ${to}`]
}
