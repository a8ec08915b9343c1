import { isServerMessage } from './server-messages.js'

/** One exchange as an access log reports it. Texts are slices of the line: copy what outlives the line. */
export interface LogEntry {
  /** Milliseconds since 1970, by the log's own zone; in a log without one by `--tz`, else UTC. */
  timestamp: number
  /** The client's; empty if the log has none. */
  address: string
  /** Empty, like `target`, if the client sent no HTTP request, for example TLS to a plain port. */
  method: string
  /** Path and query as in the request line. The host of an absolute form goes to `host`. */
  target: string
  /** Lower case, without the port. */
  host?: string
  /** 0 if the log has none, for example because the client left before a response. */
  status: number
  bytes?: number
  /** Empty if the request had none, which most logs write as `-`. */
  referrer: string
  /** Empty as `referrer`; without the log's escapes. */
  userAgent: string
  /** Set if the line has no field for the user agent: what the client sent is unknown. */
  lacksUserAgent?: true
  durationMs?: number
  contentType?: string
  /** By lower-case name, where the log has whole headers. */
  requestHeaders?: Record<string, string>
}

/**
 * Returns `skip` for a header, a comment, a blank line or a server's message about itself, and undefined for a broken
 * line; never throws.
 */
export type LogParser = (line: string) => LogEntry | 'skip' | undefined

export interface ParserOptions {
  /** IANA name of the zone for a log whose times have none; UTC by default. */
  readonly zone?: string | undefined
}

export interface LogFormat {
  readonly name: string
  readonly title: string
  /** The end of "28 of 30 lines …", which tells the operator why this format was detected. */
  readonly traits: string
  /** A parser remembers earlier lines, such as headers: use one for each file. */
  createParser(options?: ParserOptions): LogParser
}

/** No server writes a longer line: request line, referrer and user agent have 8 KB each at most by default. */
export const MAX_LINE_CHARS = 65_536

interface FormatDefinition extends Omit<LogFormat, 'createParser'> {
  createParser(options: ParserOptions): LogParser
}

/**
 * Makes a format whose parsers skip blank lines and what a server writes about itself, call a line over `MAX_LINE_CHARS`
 * broken, and read what Docker's driver `json-file` stores as the line that the server wrote.
 */
export function defineFormat(format: FormatDefinition): LogFormat {
  return {
    ...format,
    createParser(options = {}) {
      const parse = format.createParser(options)
      return (line) => {
        if (line.length > MAX_LINE_CHARS) return undefined
        const text = line.startsWith(DOCKER_START) ? dockerText(line) : line
        if (text === '' || text === '\r') return 'skip'
        return parse(text) ?? (isServerMessage(text) ? 'skip' : undefined)
      }
    },
  }
}
const DOCKER_START = '{"log":"'

function dockerText(line: string): string {
  try {
    const value: unknown = JSON.parse(line)
    const isStored = typeof value === 'object' && value !== null && 'log' in value && typeof value.log === 'string'
    return isStored ? String(value.log).trimEnd() : line
  } catch {
    return line
  }
}
