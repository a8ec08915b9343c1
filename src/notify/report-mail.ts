import { z } from 'zod'
import type { MailAttachment, MailMessage } from './mail-message.js'
import { MAX_ATTEMPTS } from './outbox.js'
import { sanitiseLine } from './sanitise.js'

/** What the outbox holds of a report: its text as it was, and what its files are asked for when it is sent. */
export const ReportNotice = z.object({
  subject: z.string(),
  text: z.string(),
  files: z.array(z.object({ filename: z.string(), query: z.string() })),
})
export type ReportNotice = z.output<typeof ReportNotice>

/** Draws a report (`/api/stats/export.pdf`) of any site. */
export type DrawPdf = (query: URLSearchParams) => Promise<Uint8Array>

/** The mail of a report. Throws what `draw` does, but for the last attempts: then it goes without its files. */
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
    return { ...mail, text: `${text}\nThe PDF could not be drawn.\n` }
  }
  return { ...mail, attachments }
}
