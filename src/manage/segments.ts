import { z } from 'zod'
import { type Filter, parseFilters } from '../analytics/query/filters.js'
import type { Records } from '../storage/store.js'
import { createCollection } from './collection.js'
import { FiltersColumn, FiltersOutput, Name, recordFields, SiteId, SomeFiltersInput } from './fields.js'

const shape = {
  name: Name,
  filters: SomeFiltersInput.describe(
    'As in the query parameter `filters`: a list, all of which must match, or a single group.',
  ),
}
const Shared = z.boolean().describe('Whether the segment is shown to people other than its author.')

/** A segment as the API shows it. */
export const Segment = z.object({
  ...recordFields,
  name: Name,
  filters: FiltersOutput,
  shared: Shared,
})
/** A segment with its filters in canonical names. */
export type Segment = Omit<z.infer<typeof NewSegment>, 'filters'> & { filters: readonly Filter[] }

/** The body of `POST /api/segments`. */
export const NewSegment = z.strictObject({ site: SiteId, ...shape, shared: Shared.default(true) })
/** The body of `PATCH /api/segments/{id}`. */
export const SegmentChange = z.strictObject({ ...shape, shared: Shared }).partial()

/** Returns the segment with its filters in canonical names. Throws `validation_error`, field `filters`. */
export const normaliseSegment = (segment: z.infer<typeof NewSegment>): Segment => ({
  ...segment,
  filters: parseFilters(segment.filters),
})

const StoredSegment = z.object({ ...Segment.shape, filters: FiltersColumn })

export const createSegments = (records: Records) =>
  createCollection<Segment>(records, {
    table: 'segments',
    label: 'segment',
    maxPerSite: 1_000,
    stored: StoredSegment,
    columns: ['filters', 'shared'],
  })
