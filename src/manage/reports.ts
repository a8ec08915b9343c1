import { z } from 'zod'
import type { Records } from '../store.js'
import { type Collection, createCollection, JsonText, Name, SiteId, Version } from './collection.js'
import { Email } from './email.js'

export const PERIODS = ['weekly', 'monthly'] as const
export type Period = (typeof PERIODS)[number]

const ReportPeriod = z
  .enum(PERIODS)
  .describe("Sent on Monday, or on the 1st, at 06:00 in the site's time zone, for the week or the month that ended.")
const Recipients = z
  .array(Email)
  .min(1, 'A report needs a recipient.')
  .max(20, 'A report has at most 20 recipients.')
  .transform((all) => [...new Set(all)])

/** A report as the API shows it. */
export const Report = z.object({
  ...{ id: z.int(), version: Version, site: z.int(), name: Name, period: ReportPeriod },
  ...{ recipients: z.array(z.string()), enabled: z.boolean() },
  last_sent: z.string().optional().describe('The period it was sent for last: `weekly:2026-11-16`, by its first day.'),
})
export type Report = Omit<z.infer<typeof Report>, 'id' | 'version'>

/** The body of `POST /api/reports`. */
export const NewReport = z.strictObject({
  ...{ site: SiteId, name: Name, period: ReportPeriod, recipients: Recipients },
  enabled: z.boolean().default(true),
})
/** The body of `PATCH /api/reports/{id}`. */
export const ReportChange = z
  .strictObject({ name: Name, period: ReportPeriod, recipients: Recipients, enabled: z.boolean() })
  .partial()

const StoredReport = z
  .object({ ...Report.shape, recipients: JsonText.pipe(z.array(z.string())), last_sent: z.string().nullable() })
  .transform(({ last_sent, ...report }) => ({ ...report, ...(last_sent === null ? {} : { last_sent }) }))

/** The mailed reports of this instance's sites, over its records. */
export const createReports = (records: Records): Collection<Report> =>
  createCollection<Report>(records, {
    ...{ table: 'reports', label: 'report', maxPerSite: 20 },
    fromRow: (row) => StoredReport.parse(row),
    toColumns: ({ period, recipients, enabled }) => ({ period, recipients: JSON.stringify(recipients), enabled }),
  })
