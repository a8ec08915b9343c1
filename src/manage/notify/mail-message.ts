/** A mail in plain text to one recipient. */
export interface MailMessage {
  /** One ASCII address, as `Email` returns it. */
  readonly to: string
  /** A single line. */
  readonly subject: string
  readonly text: string
  /** Makes repeated mails recognisable: the same key gives the same `Message-ID`. */
  readonly key?: string
  readonly attachments?: readonly MailAttachment[]
}

/** A file attached to a mail. */
export interface MailAttachment {
  readonly filename: string
  /** Media type. */
  readonly type: string
  readonly content: Uint8Array
}

/** Hands a mail to the mail server; rejects if it was not accepted. */
export type SendMail = (mail: MailMessage) => Promise<void>
