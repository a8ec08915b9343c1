import type { DataOf } from '../client/index.js'
import { type Result, useRead } from '../state/data.js'
import { shareSlug, siteQuery } from '../state/question.js'
import { MINUTE_MS } from '../state/time-units.js'

/** A note on the time line. */
export type Note = DataOf<'/api/annotations'>[number]

/** The site's notes of a window; a share link shows none. Two charts that end now differ by less than a minute. */
export const useNotes = (start: string | undefined, end: string | undefined): Result<'/api/annotations'> =>
  useRead(
    '/api/annotations',
    start === undefined || end === undefined || shareSlug.value !== undefined
      ? undefined
      : { ...siteQuery.value, start, end: new Date(Math.ceil(Date.parse(end) / MINUTE_MS) * MINUTE_MS).toISOString() },
  )
