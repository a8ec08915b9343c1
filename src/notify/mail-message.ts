/** A mail as whoever writes one has it: plain text for one reader. */
export interface MailMessage {
  /** An address as `Email` has it: one, ASCII, on one line. */
  readonly to: string
  /** One line. */
  readonly subject: string
  readonly text: string
  /** Of two mails with the same key one is sent; absent: every one is. */
  readonly key?: string
  readonly attachments?: readonly MailAttachment[]
}

/** A file that goes with a mail. */
export interface MailAttachment {
  readonly filename: string
  /** Media type. */
  readonly type: string
  readonly content: Uint8Array
}

/** Hands a mail over; rejects where nobody took it. */
export type SendMail = (mail: MailMessage) => Promise<void>
