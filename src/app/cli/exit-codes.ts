import { wrapIndented } from './text-width.js'

/** Meanings of a command's exit codes, as `--help` and the README list it. */
export const EXIT_CODES = [
  [0, 'success'],
  [1, 'failure: no such record, a file or server that cannot be reached, a check of doctor or upgrade that failed'],
  [2, 'wrong usage: an unknown command or flag, or a value that the command or the API refuses'],
  [130, 'ended at once by Ctrl-C: 128 and the number of the signal'],
] as const

/** The codes with which a command ends by itself. */
export type FailureCode = 1 | 2

const INDENT = 7

/** Formats the table for `--help`. */
export const formatExitCodes = (columns: number): string =>
  [
    'Exit codes:',
    ...EXIT_CODES.map(
      ([code, meaning]) => `  ${String(code).padEnd(INDENT - 2)}${wrapIndented(meaning, columns, INDENT)}`,
    ),
  ].join('\n')
