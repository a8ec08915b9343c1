import { createHash } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import type SMTPTransport from 'nodemailer/lib/smtp-transport/index.js'
import { isLoopbackHost } from '../../base/address.js'
import { createSlots } from '../../base/slots.js'
import type { MailMessage } from './mail-message.js'
import { sanitiseLine } from './sanitise.js'

interface MailerOptions {
  /**
   * `smtp://user:password@host:587`, which upgrades to TLS if the server offers it, or `smtps://`. A password is sent over
   * TLS only, or to this machine, whose certificate is not checked.
   */
  smtp: string
  /** The sender: `Readership <stats@example.com>`. */
  from: string
  /** Time for the connection, and for a whole mail; tests use shorter ones. */
  connect_timeout_ms?: number
  mail_timeout_ms?: number
}

/** A mail that was not accepted; `permanent` if no later attempt can succeed either. */
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

/** Sends mail over SMTP, two at once, each on its own connection. */
export function createMailer({ smtp, from, connect_timeout_ms = 10_000, mail_timeout_ms = 30_000 }: MailerOptions) {
  const url = new URL(smtp)
  const secure = url.protocol === 'smtps:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port === '' ? (secure ? 465 : 587) : Number(url.port)
  const auth =
    url.username === ''
      ? {}
      : { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }
  const isLocal = isLoopbackHost(host)
  const open = new Set<Socket>()
  const inTurn = createSlots(MAX_CONCURRENT_MAILS)
  let unsent = 0
  const ending = new AbortController()

  const sendNow = async (mail: MailMessage): Promise<void> => {
    // Loaded on first use, because most instances send no mail.
    const { createTransport } = await import('nodemailer')
    ending.signal.throwIfAborted()
    const socket = connect({ host, port })
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    await waitForConnection(socket, connect_timeout_ms)
    let late = false
    const timer = setTimeout(() => {
      late = true
      socket.destroy()
    }, mail_timeout_ms)
    const options: SMTPTransport.Options = {
      host,
      port,
      secure,
      ...auth,
      ...(isLocal ? { tls: { rejectUnauthorized: false } } : { requireTLS: 'auth' in auth }),
      greetingTimeout: connect_timeout_ms,
      socketTimeout: mail_timeout_ms,
      disableFileAccess: true,
      disableUrlAccess: true,
      getSocket: (_, use) => use(null, { connection: socket }),
    }
    const transport = createTransport(options)
    try {
      await transport.sendMail(toMail(mail, from))
    } catch (cause) {
      throw late ? new MailError('the mail server took too long', false, { cause }) : toMailError(cause)
    } finally {
      clearTimeout(timer)
      transport.close()
      socket.destroy()
    }
  }

  return {
    /** Rejects with `MailError` if the mail was not accepted, or it is unknown whether it was. */
    async send(mail: MailMessage): Promise<void> {
      checkHeaders(mail)
      if (unsent >= MAX_CONCURRENT_MAILS + MAX_WAITING_MAILS) throw new MailError('too many mails are waiting', false)
      unsent++
      try {
        await inTurn(() => sendNow(mail), { signal: ending.signal })
      } finally {
        unsent--
      }
    },
    /** Cuts off mails under way and sends no more. */
    close(): void {
      ending.abort(closedError())
      for (const socket of open) socket.destroy()
    },
  }
}

/** Returns a mail as nodemailer takes it. */
function toMail({ to, subject, text, key, attachments = [] }: MailMessage, from: string): SMTPTransport.MailOptions {
  const domain = /@([^\s@>]+)>?\s*$/.exec(from)?.[1] ?? 'localhost'
  return {
    from,
    to: { name: '', address: to },
    subject,
    text,
    headers: { 'auto-submitted': 'auto-generated', ...(key === undefined ? {} : { 'x-service-delivery': key }) },
    // The same id for every attempt, so that a server recognises a repeated mail.
    ...(key === undefined ? {} : { messageId: `<${digestKey(key)}@${domain}>` }),
    attachments: attachments.map(({ filename, type, content }) => ({
      filename,
      contentType: type,
      content: Buffer.from(content),
    })),
  }
}

const digestKey = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 32)

/** Throws if a field could inject a header or a second recipient. */
function checkHeaders({ to, subject, key }: MailMessage): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
  const breaks = /[\u0000-\u001f\u007f]/
  if (breaks.test(subject) || breaks.test(key ?? '')) throw new MailError('a subject must be a single line', true)
  if (!/^[^\s@<>,;:"()\\]+@[^\s@<>,;:"()\\]+$/.test(to)) throw new MailError('this is not a valid e-mail address', true)
}

const closedError = (): MailError => new MailError('the mailer is closed', false)

function waitForConnection(socket: Socket, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: MailError) => {
      clearTimeout(timer)
      socket.destroy()
      reject(error)
    }
    const timer = setTimeout(() => failed(new MailError('the mail server does not respond', false)), ms)
    // Once connected, the transport handles errors too; this listener keeps a late one from being unhandled.
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

/** A 5xx status about the recipient or the mail is final; one about the sender is not, because the operator may fix it. */
function toMailError(cause: unknown): MailError {
  if (cause instanceof MailError) return cause
  const code = errorCode(cause)
  const status = cause instanceof Error && 'responseCode' in cause ? Number(cause.responseCode) : 0
  const command = cause instanceof Error && 'command' in cause ? String(cause.command) : ''
  // Without the cause: the server's text may repeat the password.
  if (code === 'EAUTH') return new MailError(`the mail server rejected the sign-in (${status || 'no response'})`, false)
  const fault = describeTlsFault(cause, code)
  if (fault !== undefined) return new MailError(fault, false, { cause })
  if (status >= 400) {
    const stands = status >= 500 && (command === 'RCPT TO' || command === 'DATA')
    return new MailError(`the mail server returned status ${status}`, stands, { cause })
  }
  return new MailError(`the mail could not be sent (${code})`, false, { cause })
}

/** Matches an error code of the operating system, such as ECONNRESET: the connection failed, not TLS. */
const SYSTEM_ERROR_CODE = /^E(?!PROTO$)[A-Z]+$/

function describeTlsFault(cause: unknown, code: string): string | undefined {
  const original = cause instanceof Error && 'originalCode' in cause ? String(cause.originalCode) : undefined
  if (cause instanceof Error && code === 'ESOCKET' && original !== undefined && !SYSTEM_ERROR_CODE.test(original))
    return `TLS with the mail server failed: ${sanitiseLine(cause.message)} (set NODE_EXTRA_CA_CERTS to trust another certificate)`
  if (code !== 'ETLS') return undefined
  return 'the mail server does not offer TLS, which is required'
}
