import type { Help, HelpConfiguration } from 'commander'
import { textWidth, wrapWords } from './text-width.js'

/** Width of help in a pipe. */
const PIPE_COLUMNS = 80
const MAX_COLUMNS = 100
/** Narrower terminals show a description below its flag, not beside it. */
const MIN_TWO_COLUMNS = 72
const MAX_TERM_COLUMNS = 26
const ITEM_INDENT = 2
const DESCRIPTION_INDENT = 6
const GAP = 2

/** Returns the width of help on a terminal of this width; a wide one is not filled, because long lines are hard to read. */
export const helpColumns = (columns: number | undefined): number => Math.min(MAX_COLUMNS, columns ?? PIPE_COLUMNS)

/**
 * Formats help so that no line is wider than the terminal and no word is broken. A flag that is longer than its column
 * has its description on the next line: else one long flag leaves too little room for the descriptions of all others.
 */
export const HELP_FORMAT: HelpConfiguration = {
  padWidth(command, helper: Help) {
    const terms = [
      ...helper.visibleOptions(command).map((option) => helper.optionTerm(option)),
      ...helper.visibleArguments(command).map((argument) => helper.argumentTerm(argument)),
      ...helper.visibleCommands(command).map((sub) => helper.subcommandTerm(sub)),
    ]
    return Math.min(MAX_TERM_COLUMNS, Math.max(...terms.map(textWidth)))
  },
  formatItem(term, termWidth, description, helper) {
    const columns = helper.helpWidth ?? PIPE_COLUMNS
    const isBeside = columns >= MIN_TWO_COLUMNS
    const indent = isBeside ? ITEM_INDENT + termWidth + GAP : DESCRIPTION_INDENT
    const lines = wrapWords(description, columns - indent).map((line) => `${' '.repeat(indent)}${line}`)
    if (!isBeside || textWidth(term) > termWidth) return [`${' '.repeat(ITEM_INDENT)}${term}`, ...lines].join('\n')
    const [first = '', ...more] = lines
    return [`${' '.repeat(ITEM_INDENT)}${term}${first.slice(ITEM_INDENT + textWidth(term))}`, ...more].join('\n')
  },
  boxWrap: (text, columns) => wrapWords(text, columns).join('\n'),
}

/** Formats the examples of a command: a line that says what it does, and the command line below it. */
export const formatExamples = (examples: readonly { line: string; doc: string }[] = []): string =>
  ['Examples:', ...examples.flatMap(({ line, doc }) => [`  # ${doc}`, `  readership ${line}`])].join('\n')
