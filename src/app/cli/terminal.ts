import type { FailureCode } from './exit-codes.js'

/** The process as a command sees it. bin/readership.ts creates the real one, tests a fake. */
export interface Terminal {
  out(text: string): void
  err(text: string): void
  /** Writes to standard output; without it a command has no output of bytes. */
  outBytes?(bytes: Uint8Array): void
  /** Reads standard input as text; without it a command sees an empty input. */
  input?(): AsyncIterable<string>
  /** Reads standard input as bytes; a command uses one of the two. */
  inputBytes?(): AsyncIterable<Buffer>
  /** Resolves when the reader of standard output has caught up. */
  drained?(): Promise<void>
  /** Shows a long text with the keys of a pager; resolves to false if there is no terminal or no pager, and nothing was shown. */
  page?(text: string): Promise<boolean>
  /** Width of the terminal on standard output; undefined if it is not a terminal. */
  readonly columns?: number | undefined
  /** Height of the terminal on standard output; undefined if it is not a terminal. */
  readonly rows?: number | undefined
  /** Width of the terminal on standard error; undefined if it is not a terminal. */
  errColumns?: number | undefined
  /** False if standard output is not a terminal, or NO_COLOR is set (no-color.org). */
  colour: boolean
  version: string
  pid: number
  /** Number of files the process may open; undefined if the system does not say. */
  openFiles?: number | undefined
  env: Readonly<Record<string, string | undefined>>
  onSignal(name: 'SIGTERM' | 'SIGINT' | 'SIGHUP', listener: () => void): void
  /** Registers a listener for uncaught errors, after which they no longer end the process. */
  onUncaughtError(listener: (error: unknown) => void): void
  /** Ends the process at once. */
  exit(code: number): never
}

/** Ends a command with a one-line message. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly exitCode: FailureCode = 1,
    options?: { cause?: unknown },
  ) {
    super(message, options)
    this.name = 'Failure'
  }
}

const STYLE_CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const

/** Returns `text` in a style, or unchanged if the terminal shows no colour. */
export function style(terminal: Pick<Terminal, 'colour'>, name: keyof typeof STYLE_CODES, text: string): string {
  const [on, off] = STYLE_CODES[name]
  return terminal.colour ? `\u001b[${on}m${text}\u001b[${off}m` : text
}

/** Returns the text as it is shown, without the codes of its styles. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the styles' own.
export const withoutStyle = (text: string): string => text.replace(/\u001b\[\d+m/g, '')

/** Returns text that a terminal draws over what it shows: the rest of each line, and what is below the last, are erased. */
export const drawOver = (text: string): string => `\u001b[H${text.replaceAll('\n', '\u001b[K\n')}\u001b[J`
