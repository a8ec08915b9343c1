import { z } from 'zod'
import { type Filter, parseFilters } from '../query/filters.js'
import type { Records } from '../store.js'
import { type Collection, createCollection, JsonText, Name, SiteId, Version } from './collection.js'

const Filters = z
  .union([z.array(z.unknown()).min(1), z.record(z.string(), z.unknown())])
  .describe('As the parameter `filters` takes them: a list, all of which have to hold, or a lone group.')
const shape = { name: Name, filters: Filters }
const Shared = z.boolean().describe('Whether others than who made it are shown it; of use when there are accounts.')

/** A segment as the API shows it (contract 7). */
export const Segment = z.object({
  ...{ id: z.int(), version: Version, site: z.int(), name: Name },
  filters: z.array(z.record(z.string(), z.unknown())).describe('In canonical names.'),
  shared: Shared,
})
/** Its filters as they are asked. */
export type Segment = Omit<z.infer<typeof NewSegment>, 'filters'> & { filters: readonly Filter[] }

/** The body of `POST /api/segments`. */
export const NewSegment = z.strictObject({ site: SiteId, ...shape, shared: Shared.default(true) })
/** The body of `PATCH /api/segments/{id}`. */
export const SegmentChange = z.strictObject({ ...shape, shared: Shared }).partial()

/** A segment whose filters can be asked, in canonical names. Throws `validation_error`, field `filters`. */
export function normaliseSegment(segment: z.infer<typeof NewSegment>): Segment {
  return { ...segment, filters: parseFilters(segment.filters) }
}

const StoredSegment = z.object({ ...Segment.shape, filters: JsonText.transform(parseFilters) })

/** The saved segments of this instance's sites, over its records. */
export const createSegments = (records: Records): Collection<Segment> =>
  createCollection<Segment>(records, {
    ...{ table: 'segments', label: 'segment', maxPerSite: 1_000 },
    fromRow: (row) => StoredSegment.parse(row),
    toColumns: ({ filters, shared }) => ({ filters: JSON.stringify(filters), shared }),
  })
