import { z } from 'zod'
import type { MailAttachment, MailMessage } from './mail-message.js'
import { MAX_ATTEMPTS } from './notices.js'
import { sanitiseLine } from './sanitise.js'

/** A report in the outbox: its text as written, and the queries of its PDFs, which are drawn when it is sent. */
export const ReportNotice = z.object({
  subject: z.string(),
  text: z.string(),
  files: z.array(z.object({ filename: z.string(), query: z.string() })),
})
export type ReportNotice = z.output<typeof ReportNotice>

/** Draws the PDF of a report of any site; takes the query of `/api/stats/export.pdf`. */
export type DrawPdf = (query: URLSearchParams) => Promise<Uint8Array>

/** Returns the mail of a report. Throws what `draw` throws, except in later attempts: then the mail goes without its files. */
export async function reportMail(
  { subject, text, files }: ReportNotice,
  { to, key, attempts, draw }: { to: string; key: string; attempts: number; draw: DrawPdf },
): Promise<MailMessage> {
  const mail = { to, key, subject: sanitiseLine(subject, 200), text }
  const attachments: MailAttachment[] = []
  try {
    for (const { filename, query } of files)
      attachments.push({ filename, type: 'application/pdf', content: await draw(new URLSearchParams(query)) })
  } catch (error) {
    if (attempts <= MAX_ATTEMPTS / 2) throw error
    return { ...mail, text: `${text}\nThe PDF could not be created.\n` }
  }
  return { ...mail, attachments }
}
