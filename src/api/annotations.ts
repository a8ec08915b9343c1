import type { z } from 'zod'
import { startOfDay } from '../analytics/query/calendar.js'
import { ENVELOPE_SHAPE, parseMoment } from '../analytics/query/envelope.js'
import { resolveBounds } from '../analytics/query/plan.js'
import { ApiError } from '../base/errors.js'
import {
  type Annotation,
  AnnotationChange,
  type Annotations,
  AnnotationView,
  NewAnnotation,
} from '../manage/annotations.js'
import type { WithId } from '../manage/collection.js'
import type { Sites } from '../manage/sites.js'
import type { Users } from '../manage/users.js'
import { auditContext } from './auth.js'
import { type Call, parseQuery, type Route, SiteQuery } from './route.js'
import { recordRoutes } from './site-records.js'
import { validate } from './validation.js'

const ListQuery = SiteQuery.extend({
  start: ENVELOPE_SHAPE.start.describe(
    "First instant, ISO-8601; a date alone is the first instant of that day in the site's time zone. Default: all.",
  ),
  end: ENVELOPE_SHAPE.end.describe('End (exclusive), ISO-8601; a date alone includes that day. Default: all.'),
})

/** `/api/annotations`. */
export function annotationRoutes({
  sites,
  annotations,
  users,
}: {
  readonly sites: Pick<Sites, 'get'>
  readonly annotations: Annotations
  readonly users: Pick<Users, 'get'>
}): Route[] {
  /** A day is its first instant in the site's time zone. */
  const instantOf = async (at: string, site: number): Promise<Date> => {
    const moment = parseMoment(at)
    if (moment instanceof Date) return moment
    const timezone = (await sites.get(site))?.timezone
    if (moment && timezone !== undefined) return startOfDay(moment, timezone)
    throw new ApiError('not_found', 'There is no such site.', 'site')
  }
  return recordRoutes<Annotation, z.output<typeof NewAnnotation>>(sites, {
    shape: AnnotationView,
    newShape: NewAnnotation,
    changeShape: AnnotationChange,
    records: annotations,
    list: {
      query: ListQuery,
      select(all, call, { timezone }) {
        const { start, end } = resolveBounds(parseQuery(call, ListQuery), timezone)
        return all
          .filter(({ happened_at }) => (!start || happened_at >= start) && (!end || happened_at < end))
          .sort((a, b) => a.happened_at.getTime() - b.happened_at.getTime())
      },
    },
    normalise: async ({ site, at, text }, call) => ({
      site,
      name: text,
      happened_at: await instantOf(at, site),
      kind: 'note',
      ...authorOf(call),
    }),
    async applyChange({ id: _, version: __, user_id, author, ...note }, change, call) {
      const { at, text = note.name } = validate(AnnotationChange, change)
      const isRewritten = text !== note.name
      return {
        ...note,
        name: text,
        happened_at: at === undefined ? note.happened_at : await instantOf(at, note.site),
        ...(isRewritten ? authorOf(call) : { ...(user_id && { user_id }), ...(author && { author }) }),
      }
    },
    async present({ name, happened_at, user_id, author, cause: _, ...note }: WithId<Annotation>) {
      const person = user_id === undefined ? undefined : await users.get(user_id)
      return { ...note, at: happened_at.toISOString(), text: name, by: author ?? person?.email ?? 'deleted account' }
    },
  })
}

/** Returns the author as the note stores it: an account, whose address may change, or a name. */
const authorOf = (call: Call): Pick<Annotation, 'user_id' | 'author'> =>
  call.principal.kind === 'person' ? { user_id: call.principal.user.id } : { author: auditContext(call, 0).by.name }
