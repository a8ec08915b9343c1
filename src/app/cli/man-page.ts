import { SETTINGS } from '../config.js'
import { type Command, listFlags, listSettings } from './command.js'
import { EXIT_CODES } from './exit-codes.js'
import { COMMANDS, DESCRIPTION, formatDefault, SEE_ALSO } from './program.js'

/**
 * Formats the manual page of the program in roff (man(7)), from the definitions that `--help` shows. It has no date, so
 * that two builds of a release are equal.
 */
export function formatManPage(version: string): string {
  return `${[
    `.TH READERSHIP 1 "" ${quote(`readership ${version}`)} "User Commands"`,
    // No hyphens in the names of flags, and no wide gaps between them.
    '.nh',
    '.ad l',
    '.SH NAME',
    `readership \\- ${escapeRoff(DESCRIPTION.replace(/^W/, 'w').replace(/\.$/, ''))}`,
    '.SH SYNOPSIS',
    '.B readership',
    `.RI ${quote('command ')} [ argument " ...] [" flag " ...]"`,
    '.SH DESCRIPTION',
    paragraph(
      'The servers proxy and serve count the people and the agents of a site and keep them in a data directory. The other commands ask the running server through its control socket, or open the store themselves if none runs. Every command has --help.',
    ),
    '.SH COMMANDS',
    ...COMMANDS.flatMap(formatCommand),
    '.SH SETTINGS',
    paragraph(
      'A setting is a flag, a variable or a line of the settings file. From lowest to highest precedence: default, file, variable, flag.',
    ),
    ...SETTINGS.flatMap(({ name, flag, doc, env, default: preset }) => [
      ...formatTerm(flag ?? '[origin-url]'),
      paragraph(`${doc}${formatDefault(preset)}; variable ${env}, in the file ${name}`),
    ]),
    '.SH ENVIRONMENT',
    ...formatTerm('READERSHIP_CONFIG'),
    paragraph('The settings file; the flag --config counts before it.'),
    ...formatTerm('NO_COLOR'),
    paragraph('No colours, if it is set.'),
    ...formatTerm('PAGER'),
    paragraph('The program that shows long reports on a terminal; less if it is not set.'),
    '.SH FILES',
    ...formatTerm('readership.yaml'),
    paragraph('The settings file in the working directory.'),
    ...formatTerm('control.sock'),
    paragraph('The socket in the data directory through which commands reach a running server.'),
    '.SH EXIT STATUS',
    ...EXIT_CODES.flatMap(([code, meaning]) => [...formatTerm(String(code)), paragraph(meaning)]),
    '.SH EXAMPLES',
    ...COMMANDS.flatMap(({ examples = [] }) =>
      examples.flatMap(({ line, doc }) => [...formatTerm(`readership ${line}`), paragraph(doc)]),
    ),
    '.SH SEE ALSO',
    paragraph(SEE_ALSO),
  ].join('\n')}\n`
}

function formatCommand(command: Command): string[] {
  const { name, arguments: words = [], summary } = command
  const settings = listSettings(command).flatMap((setting) => {
    const { flag } = SETTINGS.find((one) => one.name === setting) ?? {}
    return flag === undefined ? [] : [flag.replace(/ .*/, '')]
  })
  return [
    `.SS ${quote([name, ...words.map(({ syntax }) => syntax)].join(' '))}`,
    paragraph(sentence(summary)),
    ...words.flatMap(({ syntax, doc }) => [...formatTerm(syntax), paragraph(doc)]),
    ...listFlags(command).flatMap(({ syntax, doc }) => [...formatTerm(syntax), paragraph(doc)]),
    '.PP',
    paragraph(`Settings: ${[...settings, '--config'].join(', ')}.`),
  ]
}

const formatTerm = (text: string): string[] => ['.TP', `.B ${quote(text)}`]

/** Makes a sentence of a summary, which has neither a capital nor a full stop. */
const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`

const escapeRoff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga')
    .replace(
      /\P{ASCII}/gu,
      (character) => `\\[u${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`,
    )

/** Lines of text of at most 79 characters: one that begins with a full stop would be a request. */
const paragraph = (text: string): string =>
  escapeRoff(text)
    .split(/(?<=^|\s)(.{1,79})(?:\s|$)/)
    .filter(Boolean)
    .map((one) => one.replace(/^\./, '\\&.'))
    .join('\n')

/** An argument of a request: quotes keep its spaces together. */
const quote = (text: string): string => `"${escapeRoff(text).replaceAll('"', '\\(dq')}"`
