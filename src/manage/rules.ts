import { z } from 'zod'
import type { Catalog } from '../agents/catalog.js'
import { ApiError } from '../base/errors.js'
import { createLock } from '../base/lock.js'
import { findRuleProblem } from '../rules/check.js'
import { countPaths, DecidingRule, MAX_PATHS_OF_SITE, ruleFields } from '../rules/rule.js'
import { type Param, type Sql, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import type { Annotations } from './annotations.js'
import { type AuditContext, auditStatements } from './audit.js'
import { type Author, AuthorColumn } from './author.js'
import { changeRecord, insertRecord, requireVersion } from './collection.js'
import { JsonText, Name, omitNulls, recordFields, SiteId, Version } from './fields.js'
import { lastId } from './ids.js'
import { ruleNoteStatements, stateAt } from './rule-notes.js'
import { createInvalidatingWrite, createTableCache } from './table-cache.js'

const Position = z
  .int()
  .min(1)
  .max(1_000_000)
  .describe('The place in the list, from 1: the first rule that matches decides. Beyond the end means the end.')

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

const withoutDefault = <T extends z.ZodType>(field: z.ZodDefault<T>): T =>
  field.description === undefined ? field.unwrap() : field.unwrap().describe(field.description)

/** The body of `PATCH /api/rules/{id}`; null removes a field. */
export const RuleChange = z
  .strictObject({
    name: Name,
    position: Position,
    agents: withoutDefault(ruleFields.agents),
    operators: withoutDefault(ruleFields.operators),
    purposes: withoutDefault(ruleFields.purposes),
    except: withoutDefault(ruleFields.except),
    identity: withoutDefault(ruleFields.identity),
    disallowed: withoutDefault(ruleFields.disallowed),
    paths: withoutDefault(ruleFields.paths),
    methods: withoutDefault(ruleFields.methods),
    budget: ruleFields.budget.nullable(),
    action: ruleFields.action,
    text: withoutDefault(ruleFields.text),
    license_url: ruleFields.license_url.nullable(),
    strict: withoutDefault(ruleFields.strict),
    refuse_search_engines: withoutDefault(ruleFields.refuse_search_engines),
    state: withoutDefault(ruleFields.state),
    until: ruleFields.until.nullable(),
  })
  .partial()

/** A rule as it is stored. */
export interface StoredRule extends DecidingRule {
  readonly site: number
  readonly version: number
  readonly position: number
  readonly changed_at: Date
  readonly changed_by: Author
}

/** The fields that select fetches: one column. */
const MatchColumn = JsonText.pipe(
  DecidingRule.pick({
    agents: true,
    operators: true,
    purposes: true,
    except: true,
    identity: true,
    disallowed: true,
    paths: true,
    methods: true,
  }),
)
const RuleRow = z
  .object({
    id: z.int(),
    site: z.int(),
    name: z.string(),
    version: Version,
    position: z.int(),
    match: MatchColumn,
    budget: JsonText.pipe(ruleFields.budget).nullable(),
    action: ruleFields.action,
    text: JsonText.pipe(ruleFields.text),
    license_url: z.string().nullable(),
    strict: z.boolean(),
    refuse_search_engines: z.boolean(),
    state: ruleFields.state,
    until: z
      .date()
      .transform((at) => at.toISOString())
      .nullable(),
    changed_at: z.date(),
    changed_by: AuthorColumn,
  })
  .transform(({ match, ...row }): StoredRule => ({ ...omitNulls(row), ...match }))

const toColumns = ({ name, action, strict, refuse_search_engines, state, ...rule }: RuleFields) => {
  const { agents, operators, purposes, except, identity, disallowed, paths, methods } = rule
  return {
    name,
    match: JSON.stringify({ agents, operators, purposes, except, identity, disallowed, paths, methods }),
    budget: rule.budget === undefined ? null : JSON.stringify(rule.budget),
    action,
    text: JSON.stringify(rule.text),
    license_url: rule.license_url ?? null,
    strict,
    refuse_search_engines,
    state,
    until: rule.until === undefined ? null : new Date(rule.until),
  } satisfies Record<string, Param>
}

/** The fields of a rule that its author sets, but for its place. */
type RuleFields = Omit<DecidingRule, 'id'>
const FIELDS = DecidingRule.omit({ id: true }).keyof().options

const fieldsOf = (rule: RuleFields & { readonly position?: number | undefined }) =>
  Object.fromEntries(
    [...FIELDS, 'position' as const].flatMap((name) => (rule[name] === undefined ? [] : [[name, rule[name]]])),
  )

/** Returns the fields that differ, as they were and as they are, for the audit log. */
function describeChange(before: RuleFields & { position: number }, after: RuleFields & { position: number }) {
  const [was, is]: Record<string, unknown>[] = [fieldsOf(before), fieldsOf(after)]
  const names = [...FIELDS, 'position'].filter((name) => JSON.stringify(was?.[name]) !== JSON.stringify(is?.[name]))
  const pick = (fields: Record<string, unknown> = {}) =>
    Object.fromEntries(names.map((name) => [name, fields[name] ?? null]))
  return { before: pick(was), after: pick(is) }
}

const MAX_PER_SITE = 1_000

export type Rules = ReturnType<typeof createRules>

interface RulesDeps {
  readonly records: Records
  readonly catalog: Catalog
  readonly annotations: Pick<Annotations, 'invalidate'>
  /** Updates the active rules. Awaited after every write, before the caller gets its result. */
  readonly onChange: () => Promise<void>
}

/** The rules of all sites. Each site has a list, in the order in which its rules decide. */
export function createRules({ records, catalog, annotations, onChange }: RulesDeps) {
  const cache = createTableCache(async () =>
    (await records.query(sql`select * from rules order by site, position, id`)).map((row) => RuleRow.parse(row)),
  )
  const lock = createLock()
  const write = createInvalidatingWrite(records, cache, annotations, { invalidate: onChange })
  const list = async (site: number) => (await cache.get()).filter((rule) => rule.site === site)
  const find = async (id: number, version?: number): Promise<StoredRule> =>
    requireVersion(
      (await cache.get()).find((rule) => rule.id === id),
      version,
      'rule',
    )
  return {
    /** Returns the rules of all sites; the same array until one of them changes. */
    all: () => cache.get(),
    /** Returns a site's rules in the order in which they decide. */
    list,
    /** Throws `not_found`. */
    get: (id: number) => find(id),
    /** Creates a rule at its position, by default the last one. Throws `validation_error` and `conflict`. */
    create: ({ site, position: wanted, ...given }: NewRule, by: Author, audit: AuditContext) =>
      lock(async (): Promise<StoredRule> => {
        const rule = normalise(given)
        const others = await list(site)
        checkRule(rule, others, catalog)
        if (others.length >= MAX_PER_SITE)
          throw new ApiError('conflict', `A site can have at most ${MAX_PER_SITE} rules.`)
        const position = Math.min(wanted ?? others.length + 1, others.length + 1)
        await write(...creationStatements({ ...rule, site, position }, others.length, by, audit))
        const created = (await list(site)).find((each) => each.name === rule.name)
        // The site was deleted meanwhile, and the rule with it.
        if (!created) throw new ApiError('not_found', 'There is no such site.', 'site')
        return created
      }),
    /** Changes or moves a rule. Throws what `create` throws, `not_found`, and `conflict` for another `version`. */
    change: (id: number, change: (current: StoredRule) => NewRule, by: Author, audit: AuditContext, version?: number) =>
      lock(async (): Promise<StoredRule> => {
        const current = await find(id, version)
        const { site } = current
        const all = await list(site)
        const { site: _, position: wanted = current.position, ...given } = change(current)
        const position = Math.min(wanted, all.length)
        const rule = normalise(given)
        const others = all.filter((each) => each.id !== id)
        const details = describeChange(current, { ...rule, position })
        const fields = Object.keys(details.after)
        if (fields.length === 0) return current
        // The catalogue may have changed since: a rule can be moved and switched off all the same.
        const isSafe = fields.every((name) => name === 'position' || (name === 'state' && rule.state === 'off'))
        if (!isSafe) checkRule(rule, others, catalog, current)
        await write(
          ...shift(site, current.position, position),
          changeRecord('rules', id, { position, ...toColumns(rule), ...toChangeColumns(by, audit) }),
          ...changeNotes(current, rule, details, audit),
        )
        return find(id)
      }),
    /** Deletes a rule for good. Throws `not_found`, and `conflict` for another `version`. */
    delete: (id: number, audit: AuditContext, version?: number) =>
      lock(async () => {
        const rule = await find(id, version)
        const { length } = await list(rule.site)
        await write(
          sql`delete from rules where id = ${id}`,
          ...shift(rule.site, rule.position, length + 1),
          ...changeNotes(rule, undefined, { before: fieldsOf(rule) }, audit),
        )
      }),
    /** Call it after another module has written to the table. */
    invalidate: cache.invalidate,
  }
}

/** Returns the rule without repeated names, and its end as it is stored. */
const normalise = ({ until, ...rule }: RuleFields): RuleFields => ({
  ...rule,
  agents: [...new Set(rule.agents)],
  operators: [...new Set(rule.operators)],
  purposes: [...new Set(rule.purposes)],
  except: [...new Set(rule.except)],
  identity: [...new Set(rule.identity)],
  paths: [...new Set(rule.paths)],
  methods: [...new Set(rule.methods)],
  ...(until !== undefined && { until: new Date(until).toISOString() }),
})

/** Throws if a rule cannot be stored beside the site's other ones. */
function checkRule(rule: RuleFields, others: readonly StoredRule[], catalog: Catalog, current?: StoredRule): void {
  const problem = findRuleProblem({ ...rule, id: 0 }, catalog, current)
  if (problem) throw new ApiError('validation_error', problem.message, problem.field)
  if (countPaths([rule, ...others]) > MAX_PATHS_OF_SITE)
    throw new ApiError('conflict', `The rules of a site may have at most ${MAX_PATHS_OF_SITE} paths.`, 'paths')
  if (others.some(({ name }) => name === rule.name))
    throw new ApiError('conflict', 'The site already has a rule with this name.', 'name')
}

const toChangeColumns = (by: Author, { at }: AuditContext) => ({ changed_at: at, changed_by: JSON.stringify(by) })

/** Returns the statements that insert a rule at its position, with its audit line and its note. */
function creationStatements(
  rule: RuleFields & { readonly site: number; readonly position: number },
  count: number,
  by: Author,
  audit: AuditContext,
): Sql[] {
  const { site, position, name } = rule
  const details = { site, name, after: fieldsOf(rule) }
  return [
    ...shift(site, count + 1, position),
    ...insertRecord('rules', { site, position, ...toColumns(rule), ...toChangeColumns(by, audit) }),
    ...auditStatements(audit, { action: 'create', object: 'rule', id: lastId('rules'), details }),
    ...ruleNoteStatements({ site, at: audit.at, id: undefined, name, before: 'off', after: rule }),
  ]
}

/** Returns the audit line and the note of a change, or of the deletion without `after`. */
function changeNotes(
  { id, site, ...current }: StoredRule,
  after: RuleFields | undefined,
  sides: object,
  audit: AuditContext,
): Sql[] {
  const { name } = after ?? current
  const action = after === undefined ? 'delete' : 'change'
  return [
    ...auditStatements(audit, { action, object: 'rule', id, details: { site, name, ...sides } }),
    ...ruleNoteStatements({ site, at: audit.at, id, name, before: stateAt(current, audit.at), after }),
  ]
}

/** Returns the statements that move the rules between two places; the place of a new or deleted rule is after the last. */
function shift(site: number, from: number, to: number): Sql[] {
  if (from === to) return []
  return from > to
    ? [sql`update rules set position = position + 1 where site = ${site} and position >= ${to} and position < ${from}`]
    : [sql`update rules set position = position - 1 where site = ${site} and position > ${from} and position <= ${to}`]
}
