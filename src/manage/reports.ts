import { z } from 'zod'
import type { Records } from '../storage/store.js'
import { createCollection } from './collection.js'
import { Email } from './email.js'
import { JsonText, Name, omitNulls, recordFields, SiteId } from './fields.js'

const PERIODS = ['weekly', 'monthly'] as const
export type Period = (typeof PERIODS)[number]

const ReportPeriod = z
  .enum(PERIODS)
  .describe("Sent on Monday or on the 1st, at 06:00 in the site's time zone, for the week or month that has ended.")
const Recipients = z
  .array(Email)
  .min(1, 'A report needs at least one recipient.')
  .max(20, 'A report has at most 20 recipients.')
  .transform((all) => [...new Set(all)])

/** A mailed report as the API shows it. */
export const Report = z.object({
  ...recordFields,
  name: Name,
  period: ReportPeriod,
  recipients: z.array(z.string()),
  enabled: z.boolean(),
  last_sent: z.string().optional().describe('The last period that was sent, by its first day: `weekly:2026-11-16`.'),
})
export type Report = Omit<z.infer<typeof Report>, 'id' | 'version'>

const shape = { name: Name, period: ReportPeriod, recipients: Recipients }
/** The body of `POST /api/reports`. */
export const NewReport = z.strictObject({ site: SiteId, ...shape, enabled: z.boolean().default(true) })
/** The body of `PATCH /api/reports/{id}`. */
export const ReportChange = z.strictObject({ ...shape, enabled: z.boolean() }).partial()

const StoredReport = z
  .object({ ...Report.shape, recipients: JsonText.pipe(z.array(z.string())), last_sent: z.string().nullable() })
  .transform(omitNulls)

export const createReports = (records: Records) =>
  createCollection<Report>(records, {
    table: 'reports',
    label: 'report',
    maxPerSite: 20,
    stored: StoredReport,
    columns: ['period', 'recipients', 'enabled'],
  })
