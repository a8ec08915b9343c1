import { z } from 'zod'
import type { Countable, ExportedHit } from './visit-counter.js'

const Count = z.union([z.int(), z.string().regex(/^\d+$/).transform(Number)])
const Param = z.object({
  key: z.string(),
  value: z
    .object({ string_value: z.string().nullish(), int_value: z.union([z.number(), z.string()]).nullish() })
    .nullish(),
})
/** The fields of an event of the BigQuery export that visits are counted by. Whole numbers are text in its JSON. */
const Event = z.object({
  event_timestamp: Count,
  event_name: z.string(),
  user_pseudo_id: z.string().nullish(),
  event_params: z.array(Param).default([]),
})

export const GA4_EVENTS = {
  tool: 'ga4',
  title: 'Google Analytics 4, events of the BigQuery export',
  has: { visitors: true, visits: true, bounces: 'not_engaged' } satisfies Countable,
} as const

/** Parses a line of the export as NDJSON; undefined if it is not an event. */
export function readGa4Event(line: string): ExportedHit | undefined {
  const parsed = Event.safeParse(parseJson(line))
  if (!parsed.success) return undefined
  const { event_timestamp, event_name, user_pseudo_id, event_params } = parsed.data
  const param = (key: string) => {
    const value = event_params.find((one) => one.key === key)?.value
    return value?.string_value ?? value?.int_value ?? undefined
  }
  const session = param('ga_session_id')
  const person = user_pseudo_id ?? undefined
  return {
    at: event_timestamp / 1000,
    isPageview: event_name === 'page_view',
    visitor: person,
    // Sessions are numbered by the second at which they began, so several people may have the same one.
    visit: person === undefined || session === undefined ? undefined : `${person} ${session}`,
    isEngaged: String(param('session_engaged') ?? '') === '1',
  }
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
