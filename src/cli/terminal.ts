/** All that a command sees of the process it runs in; bin/readership.ts makes the real one. */
export interface Terminal {
  out(text: string): void
  err(text: string): void
  /** What is typed or piped into it, as text; absent: nothing. */
  input?(): AsyncIterable<string>
  /** Resolves when so much of the output was taken that more may follow; absent: at once. */
  drained?(): Promise<void>
  /** Of the output; absent where it is no terminal. */
  columns?: number | undefined
  /** The same of what is said beside the output. */
  errColumns?: number | undefined
  /** False where it is no terminal, and under NO_COLOR (no-color.org). */
  colour: boolean
  version: string
  pid: number
  /** Files it may have open; absent where the system does not say. */
  openFiles?: number | undefined
  env: Readonly<Record<string, string | undefined>>
  onSignal(name: 'SIGTERM' | 'SIGINT' | 'SIGHUP', listener: () => void): void
  /** Errors that nobody caught. With a listener the process goes on. */
  onUncaughtError(listener: (error: unknown) => void): void
  /** Ends the process at once. */
  exit(code: number): never
}

/** Why a command failed, in one line: exit 1 for a failure, 2 for wrong usage (contract 2). */
export class Failure extends Error {
  constructor(
    message: string,
    readonly exit: 1 | 2 = 1,
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

/** `text` in a style, where the terminal takes styles. */
export function style(terminal: Pick<Terminal, 'colour'>, name: keyof typeof STYLE_CODES, text: string): string {
  const [on, off] = STYLE_CODES[name]
  return terminal.colour ? `\u001b[${on}m${text}\u001b[${off}m` : text
}
