import { createHash } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import type SMTPTransport from 'nodemailer/lib/smtp-transport/index.js'
import type { MailMessage, SendMail } from './mail-message.js'
import { sanitiseLine } from './sanitise.js'

export interface MailerOptions {
  /**
   * `smtp://user:password@host:587`, which goes on in TLS where the server offers it, or `smtps://`. A password goes
   * through TLS, or nowhere but to this machine itself, of whose certificate nothing is asked: nobody is between.
   */
  smtp: string
  /** As in `Readership <stats@example.com>`. */
  from: string
  /** Milliseconds for the connection, and for the whole of a mail: tests give others. */
  connect_timeout_ms?: number
  mail_timeout_ms?: number
}

export interface Mailer {
  /** Rejects with `MailError`: nothing was taken, or nobody knows. */
  send: SendMail
  /** Mails under way are cut off, and none is begun any more. */
  close(): void
}

/** `permanent`: no later attempt can be taken either. */
export class MailError extends Error {
  override readonly name = 'MailError'
  constructor(
    message: string,
    readonly permanent: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

const MAX_CONCURRENT_MAILS = 2
const MAX_WAITING_MAILS = 1_000

/** Mail over SMTP, two at once, each on a connection of its own that ends with it. */
export function createMailer({
  smtp,
  from,
  connect_timeout_ms: connect_ms = 10_000,
  mail_timeout_ms: whole_ms = 30_000,
}: MailerOptions): Mailer {
  const url = new URL(smtp)
  const secure = url.protocol === 'smtps:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port === '' ? (secure ? 465 : 587) : Number(url.port)
  const auth =
    url.username === ''
      ? {}
      : { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }
  const here = host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
  const domain = /@([^\s@>]+)>?\s*$/.exec(from)?.[1] ?? 'localhost'
  const open = new Set<Socket>()
  const waiting: (() => void)[] = []
  let running = 0
  let closed = false

  const sent = async (mail: MailMessage): Promise<void> => {
    // Most instances send none: their start has not to wait for it.
    const { createTransport } = await import('nodemailer')
    if (closed) throw closedError()
    const socket = connect({ host, port })
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    await waitForConnection(socket, connect_ms)
    let late = false
    const timer = setTimeout(() => {
      late = true
      socket.destroy()
    }, whole_ms)
    const options: SMTPTransport.Options = {
      ...{ host, port, secure, ...auth },
      ...(here ? { tls: { rejectUnauthorized: false } } : { requireTLS: 'auth' in auth }),
      ...{ greetingTimeout: connect_ms, socketTimeout: whole_ms },
      ...{ disableFileAccess: true, disableUrlAccess: true },
      getSocket: (_, use) => use(null, { connection: socket }),
    }
    const transport = createTransport(options)
    try {
      await transport.sendMail({
        from,
        to: { name: '', address: mail.to },
        subject: mail.subject,
        text: mail.text,
        headers: {
          'auto-submitted': 'auto-generated',
          ...(mail.key === undefined ? {} : { 'x-service-delivery': mail.key }),
        },
        // A mail that is sent again bears the same name: a server that has it already can tell.
        ...(mail.key === undefined ? {} : { messageId: `<${digestKey(mail.key)}@${domain}>` }),
        attachments: (mail.attachments ?? []).map(({ filename, type, content }) => ({
          filename,
          contentType: type,
          content: Buffer.from(content),
        })),
      })
    } catch (cause) {
      throw late ? new MailError('the mail server took too long', false, { cause }) : toMailError(cause)
    } finally {
      clearTimeout(timer)
      transport.close()
      socket.destroy()
    }
  }

  return {
    async send(mail) {
      checkHeaders(mail)
      if (waiting.length >= MAX_WAITING_MAILS) throw new MailError('too many mails wait', false)
      while (running >= MAX_CONCURRENT_MAILS && !closed) await new Promise<void>((resolve) => waiting.push(resolve))
      if (closed) throw closedError()
      running++
      try {
        await sent(mail)
      } finally {
        running--
        waiting.shift()?.()
      }
    },
    close() {
      closed = true
      for (const socket of open) socket.destroy()
      for (const wake of waiting.splice(0)) wake()
    },
  }
}

const digestKey = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 32)

/** What would be a second header, or a second reader, is no mail. */
function checkHeaders({ to, subject, key }: MailMessage): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const breaks = /[\u0000-\u001f\u007f]/
  if (breaks.test(subject) || breaks.test(key ?? '')) throw new MailError('a subject is one line', true)
  if (!/^[^\s@<>,;:"()\\]+@[^\s@<>,;:"()\\]+$/.test(to)) throw new MailError('that is no address', true)
}

const closedError = (): MailError => new MailError('the mailer is closed', false)

function waitForConnection(socket: Socket, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: MailError) => {
      clearTimeout(timer)
      socket.destroy()
      reject(error)
    }
    const timer = setTimeout(() => failed(new MailError('the mail server does not answer', false)), ms)
    // Its errors are the transport's as well when it stands; one behind its end is nobody's.
    socket.on('error', (cause) =>
      failed(new MailError(`the mail server cannot be reached (${errorCode(cause)})`, false, { cause })),
    )
    socket.once('close', () => failed(closedError()))
    socket.once('connect', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'failed'

/** What the server said of the reader or of the mail with 5xx stands; what it said of us the operator may mend. */
function toMailError(cause: unknown): MailError {
  if (cause instanceof MailError) return cause
  const code = errorCode(cause)
  const status = cause instanceof Error && 'responseCode' in cause ? Number(cause.responseCode) : 0
  const command = cause instanceof Error && 'command' in cause ? String(cause.command) : ''
  // Without its cause: a server may have said again what it was told.
  if (code === 'EAUTH') return new MailError(`the mail server refuses the sign-in (${status || 'no answer'})`, false)
  const fault = describeTlsFault(cause, code)
  if (fault !== undefined) return new MailError(fault, false, { cause })
  if (status >= 400) {
    const stands = status >= 500 && (command === 'RCPT TO' || command === 'DATA')
    return new MailError(`the mail server answered ${status}`, stands, { cause })
  }
  return new MailError(`the mail could not be handed over (${code})`, false, { cause })
}

/** A system's own code, as ECONNRESET is: what went wrong was the connection. */
const SYSTEM_ERROR_CODE = /^E(?!PROTO$)[A-Z]+$/

function describeTlsFault(cause: unknown, code: string): string | undefined {
  const original = cause instanceof Error && 'originalCode' in cause ? String(cause.originalCode) : undefined
  if (cause instanceof Error && code === 'ESOCKET' && original !== undefined && !SYSTEM_ERROR_CODE.test(original))
    return `no TLS with the mail server: ${sanitiseLine(cause.message)} (NODE_EXTRA_CA_CERTS names a certificate to trust)`
  if (code !== 'ETLS') return undefined
  return 'the mail server begins no TLS, without which nothing is sent'
}
