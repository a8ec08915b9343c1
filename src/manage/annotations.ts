import { z } from 'zod'
import { describeMoment, parseMoment } from '../analytics/query/envelope.js'
import { createLock } from '../base/lock.js'
import { DAY_MS } from '../base/time-units.js'
import { RULE_STATES } from '../rules/rule.js'
import { join, type Sql, sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { createCollection, type WithId } from './collection.js'
import { JsonText, NoteText, omitNulls, recordFields, SiteId } from './fields.js'
import { insertWithNextId } from './ids.js'
import type { ManagedSite } from './sites.js'
import { createInvalidatingWrite } from './table-cache.js'

/** Kinds of notes: `note` is a person's, the others readership writes by itself. */
const ANNOTATION_KINDS = [
  'note',
  'policy_changed',
  'not_recorded',
  'first_visit',
  'server_errors',
  'deployment',
  'catalog_updated',
  'rule_changed',
  'rules_paused',
  'blank_page',
] as const
type AnnotationKind = (typeof ANNOTATION_KINDS)[number]

/** The facts of an automatic note; each kind has some of these fields. */
const AnnotationData = z
  .object({
    hostname: z.string(),
    file: z.string().describe('`/robots.txt` or `/llms.txt`.'),
    status: z.int().describe('The status with which the file was served; 404 or 410 if it is gone.'),
    sha256: z.string().describe('Digest of the file; empty if it is gone.'),
    version: z.string().describe('The version of the catalogue of agents.'),
    before: z
      .object({ status: z.int(), sha256: z.string(), version: z.string(), state: z.enum(RULE_STATES) })
      .partial()
      .describe('The same facts of the version before.'),
    start: z.iso.datetime(),
    end: z.iso.datetime().describe('The last instant so far, if what the note is about goes on.'),
    agent_id: z.string(),
    name: z.string(),
    operator: z.string(),
    verification: z.string(),
    pathname: z.string().describe('The first path that the agent requested; or the page.'),
    responses: z.int().describe('Responses of the site from `start` to `end`.'),
    errors: z.int().describe('Those of them with a status of 500 or more.'),
    statuses: z.record(z.string(), z.int()).describe('The errors by status.'),
    assets: z.array(z.string()).describe('Paths of scripts and styles that are new; at most 20.'),
    rule: z.int().describe('The rule that began or ended; its name is `name`.'),
    state: z.enum(RULE_STATES).describe('The state of the rule since then.'),
    paused: z.boolean().describe('Whether the rules of the site are paused since then.'),
  })
  .partial()
export type AnnotationData = z.infer<typeof AnnotationData>

const At = z
  .string()
  .superRefine((text, context) => {
    if (!parseMoment(text)) context.addIssue(`\`at\` ${describeMoment(text)}.`)
  })
  .describe(
    "The instant on the time line, ISO-8601; a date alone is the first instant of that day in the site's time zone. May be in the future.",
  )
  .meta({ example: '2026-11-21T08:00:00.000Z' })
const shape = { at: At, text: NoteText }

/** A note as the API shows it. */
export const AnnotationView = z.object({
  ...recordFields,
  at: z.iso.datetime(),
  text: z.string(),
  by: z
    .string()
    .describe(
      "Author of the text: `readership`, a person's e-mail address, the prefix of an API key, `operator`, or `deleted account`.",
    ),
  kind: z.enum(ANNOTATION_KINDS).describe('`note` for notes by hand; any other kind was written by readership itself.'),
  data: AnnotationData.optional().describe('The facts of an automatic note.'),
})

/** A note as it is stored; `name` is its text. */
export interface Annotation {
  readonly site: number
  readonly name: string
  readonly happened_at: Date
  readonly kind: AnnotationKind
  /** The account of the text's author; absent if the author is not a person. */
  readonly user_id?: number
  /** The author where it is not a person. */
  readonly author?: string
  /** Names what an automatic note is about, uniquely in its site. */
  readonly cause?: string
  readonly data?: AnnotationData
}

/** The body of `POST /api/annotations`. */
export const NewAnnotation = z.strictObject({ site: SiteId, ...shape })
/** The body of `PATCH /api/annotations/{id}`. */
export const AnnotationChange = z.strictObject(shape).partial()

const StoredAnnotation = z
  .object({
    ...recordFields,
    name: z.string(),
    happened_at: z.date(),
    kind: z.enum(ANNOTATION_KINDS),
    user_id: z.int().nullable(),
    author: z.string().nullable(),
    cause: z.string().nullable(),
    data: JsonText.pipe(AnnotationData).nullable(),
  })
  .transform(omitNulls)

/** A note that readership writes by itself. Without a text only its cause is remembered, so that no note is written later. */
export interface AutomaticNote {
  readonly site: number
  readonly cause: string
  readonly kind: AnnotationKind
  readonly at: Date
  /** When its cause was last found to go on; `at` if absent. */
  readonly seen?: Date
  readonly text?: string
  readonly data?: AnnotationData
}

/** The latest cause of a kind that a site has had, and the facts of its note if that still exists. */
export interface LatestCause {
  readonly cause: string
  /** When it was last found to go on. */
  readonly at: Date
  readonly data?: AnnotationData
}

/** The author of automatic notes. */
const AUTOMATIC_AUTHOR = 'readership'
const MAX_BY_HAND = 1_000
/** Automatic notes of a site; the oldest are deleted first. */
const MAX_AUTOMATIC = 1_000
/** Nothing that happened longer ago is ever found again. */
const CAUSE_RETENTION_MS = 400 * DAY_MS
/** Selects causes that stay as long as their site: an agent that returns after years was here before. */
const isPermanent = sql`(cause like 'first_visit:%' or cause like 'catalog_updated:%')`

export type Annotations = ReturnType<typeof createAnnotations>

/** The notes of all sites, by hand and automatic. */
export function createAnnotations(records: Records) {
  const collection = createCollection<Annotation>(records, {
    table: 'annotations',
    label: 'annotation',
    maxPerSite: MAX_BY_HAND,
    isCounted: ({ cause }) => cause === undefined,
    repeatsNames: true,
    stored: StoredAnnotation,
    columns: ['happened_at', 'kind', 'user_id', 'author', 'cause', 'data'],
  })
  const lock = createLock()
  const write = createInvalidatingWrite(records, collection)
  return {
    ...collection,
    /** Returns when each of the causes happened that a site has had already, whether or not its note still exists. */
    findCauses: (site: number, causes: readonly string[]) => readCauses(records, site, causes),
    /** Returns the latest cause that begins with `prefix`; undefined if the site had none. */
    async latestCause(site: number, prefix: string): Promise<LatestCause | undefined> {
      const [row] = await records.query(sql`
        select cause, happened_at from annotation_causes where site = ${site} and starts_with(cause, ${prefix})
        order by happened_at desc limit 1`)
      if (row === undefined) return undefined
      const { cause, happened_at: at } = CauseRow.parse(row)
      const data = (await collection.list(site)).find((note) => note.cause === cause)?.data
      return { cause, at, ...(data && { data }) }
    },
    /**
     * Writes automatic notes, each once: a cause that the site has had already is left out, also if its note was deleted
     * since.
     */
    addAutomatic: (notes: readonly AutomaticNote[]): Promise<void> =>
      lock(async () => {
        const seenCauses = new Set<string>()
        for (const site of new Set(notes.map((note) => note.site))) {
          const causes = notes.flatMap((note) => (note.site === site ? [note.cause] : []))
          for (const cause of (await readCauses(records, site, causes)).keys()) seenCauses.add(`${site} ${cause}`)
        }
        const added = notes.filter(({ site, cause }) => {
          const key = `${site} ${cause}`
          return !seenCauses.has(key) && seenCauses.add(key)
        })
        if (added.length === 0) return
        await write(...added.flatMap((note) => automaticNoteStatements(note)))
      }),
    /** Replaces the facts of an automatic note, and its text unless a person has changed it; a deleted note stays deleted. */
    updateAutomatic: ({
      site,
      cause,
      at,
      seen = at,
      text,
      data,
    }: AutomaticNote & { readonly text: string }): Promise<void> =>
      lock(() =>
        write(
          sql`update annotations set data = ${JSON.stringify(data ?? {})},
              name = case when author = ${AUTOMATIC_AUTHOR} then ${text} else name end
            where site = ${site} and cause = ${cause}`,
          sql`update annotation_causes set happened_at = ${seen} where site = ${site} and cause = ${cause}`,
        ),
      ),
    /**
     * Deletes automatic notes that are older than their site keeps rows, the oldest beyond `MAX_AUTOMATIC`, notes of
     * deleted sites, and old causes.
     */
    prune: (sites: readonly RetainingSite[], now: Date) =>
      lock(async () => {
        const ids = listExpired(await collection.all(), sites, now)
        const oldCauses = sql`from annotation_causes
          where happened_at < ${new Date(now.getTime() - CAUSE_RETENTION_MS)} and not ${isPermanent}`
        const [row] = await records.query(sql`select count(*) as n ${oldCauses}`)
        if (ids.length === 0 && Number(row?.n) === 0) return
        await write(...ids.map((id) => sql`delete from annotations where id = ${id}`), sql`delete ${oldCauses}`)
      }),
  }
}

const CauseRow = z.object({ cause: z.string(), happened_at: z.date() })

async function readCauses(
  records: Records,
  site: number,
  causes: readonly string[],
): Promise<ReadonlyMap<string, Date>> {
  if (causes.length === 0) return new Map()
  const list = join(
    causes.map((cause) => sql`${cause}`),
    ', ',
  )
  const rows = await records.query(
    sql`select cause, happened_at from annotation_causes where site = ${site} and cause in (${list})`,
  )
  return new Map(rows.map((row) => CauseRow.parse(row)).map(({ cause, happened_at }) => [cause, happened_at]))
}

type RetainingSite = Pick<ManagedSite, 'id' | 'retention_days'>

/** Returns the ids of notes that `prune` deletes. */
function listExpired(all: readonly WithId<Annotation>[], sites: readonly RetainingSite[], now: Date): number[] {
  const remaining = new Set(
    sites.flatMap(({ id, retention_days = Number.POSITIVE_INFINITY }) => {
      const notes = all.filter(({ site }) => site === id)
      const automatic = notes
        .filter(({ cause }) => cause !== undefined)
        .sort((a, b) => b.happened_at.getTime() - a.happened_at.getTime())
      const oldest = now.getTime() - retention_days * DAY_MS
      return [
        ...notes.filter(({ cause }) => cause === undefined),
        ...automatic.slice(0, MAX_AUTOMATIC).filter(({ happened_at }) => happened_at.getTime() >= oldest),
      ]
    }),
  )
  return all.flatMap((note) => (remaining.has(note) ? [] : [note.id]))
}

/** Returns the statements that write an automatic note whose cause is new; `json` is its data where SQL gives it. */
export const automaticNoteStatements = (
  { site, cause, kind, at, seen = at, text, data }: AutomaticNote,
  json = sql`${data === undefined ? null : JSON.stringify(data)}`,
): Sql[] => [
  ...(text === undefined
    ? []
    : insertWithNextId(
        'annotations',
        sql`insert into annotations (id, site, name, version, happened_at, kind, author, cause, data)`,
        sql`${site}, ${text}, 1, ${at}, ${kind}, ${AUTOMATIC_AUTHOR}, ${cause}, ${json}`,
      )),
  sql`insert into annotation_causes values (${site}, ${cause}, ${seen})`,
]
