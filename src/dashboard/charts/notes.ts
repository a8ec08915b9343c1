import type { DataOf } from '../client/index.js'
import { type Result, useRead } from '../state/data.js'
import { shareSlug, siteQuery } from '../state/question.js'

/** A note on the time line. */
export type Note = DataOf<'/api/annotations'>[number]

/** The site's notes of a window; a share link shows none. */
export const useNotes = (start: string | undefined, end: string | undefined): Result<'/api/annotations'> =>
  useRead(
    '/api/annotations',
    start === undefined || end === undefined || shareSlug.value !== undefined
      ? undefined
      : { ...siteQuery.value, start, end },
  )
