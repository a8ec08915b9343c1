import { z } from 'zod'
import { SETTINGS } from '../config.js'
import { type Command, defineCommand, listFlags, listSettings } from './command.js'
import { Failure } from './terminal.js'

const SHELLS = ['bash', 'zsh', 'fish'] as const

/** A position on the command line: the words before it, and the words that may stand there. */
interface Place {
  /** The words of the command, or of its group. */
  readonly path: string
  readonly words: readonly { readonly word: string; readonly doc: string }[]
}

/** Lists the words after each command, each group and the program itself. */
function listPlaces(commands: readonly Command[]): Place[] {
  const places = new Map<string, Map<string, string>>([['', new Map()]])
  const placeOf = (path: string) => {
    const place = places.get(path) ?? new Map<string, string>()
    places.set(path, place)
    return place
  }
  for (const command of commands) {
    const words = command.name.split(' ')
    words.forEach((word, i) => {
      const place = placeOf(words.slice(0, i).join(' '))
      const isWhole = i === words.length - 1
      if (isWhole || !place.has(word)) place.set(word, isWhole ? command.summary : '')
    })
    const place = placeOf(command.name)
    for (const { flag, doc, name } of SETTINGS)
      if (flag && listSettings(command).includes(name)) place.set(longOf(flag), doc)
    for (const { syntax, doc } of listFlags(command)) place.set(longOf(syntax), doc)
    place.set('--config', 'settings file')
    place.set('--help', 'display help for command')
    if (command.name === 'completion') for (const shell of SHELLS) place.set(shell, '')
  }
  return [...places].map(([path, words]) => ({ path, words: Array.from(words, ([word, doc]) => ({ word, doc })) }))
}

/** Returns the flag of a syntax such as `--name <name>`. */
const longOf = (syntax: string): string => syntax.split(/[\s=]/)[0] ?? syntax

/** In single quotes, as each of the shells takes a text. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
const wordsOf = ({ words }: Place): string => words.map(({ word }) => word).join(' ')

/** Finds the longest command at the beginning of the line; after it come its flags, or the words of its group. */
const BASH_HEAD = `_readership() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path='' i word
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "\${path:+$path }$word" in`

function formatBash(places: readonly Place[]): string {
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => quote(path))
  return `${BASH_HEAD}
      ${paths.join(' | ')}) path="\${path:+$path }$word" ;;
      *) break ;;
    esac
  done
  local words=''
  case "$path" in
${places.map((place) => `    ${quote(place.path)}) words=${quote(wordsOf(place))} ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  # Anything else is a file or a value that the shell completes.
}
complete -o default -o bashdefault -F _readership readership
`
}

function formatZsh(places: readonly Place[]): string {
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => quote(path))
  const described = ({ path, words }: Place) =>
    `    (${quote(path)}) choices=(${words.map(({ word, doc }) => quote(`${word.replaceAll(':', '\\:')}:${doc}`)).join(' ')}) ;;`
  return `#compdef readership
_readership() {
  local path_='' word
  local -a choices
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${path_:+$path_ }$word" in
      (${paths.join(' | ')}) path_="\${path_:+$path_ }$word" ;;
      (*) break ;;
    esac
  done
  case "$path_" in
${places.map(described).join('\n')}
  esac
  _describe 'readership' choices || _files
}
compdef _readership readership
`
}

function formatFish(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, words }) =>
    words.map(({ word, doc }) => {
      const what = word.startsWith('--')
        ? `-l ${word.slice(2)}`
        : word.startsWith('-')
          ? `-s ${word.slice(1)}`
          : `-a ${word}`
      const isFile = word.startsWith('-') ? '' : ' -f'
      return `complete -c readership${isFile} -n ${quote(`__readership_at ${path}`.trim())} ${what} -d ${fishQuote(doc)}`
    }),
  )
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => quote(path))
  return `function __readership_at
    set -l path
    for word in (commandline -opc)[2..-1]
        if contains -- (string join ' ' -- $path $word) ${paths.join(' ')}
            set -a path $word
        else
            break
        end
    end
    test "$path" = "$argv"
end
${lines.join('\n')}
`
}
const fishQuote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

const FORMATS = { bash: formatBash, zsh: formatZsh, fish: formatFish }

/** Makes the command that prints a shell's completion of these commands, with itself. */
export function createCompletion(commands: readonly Command[]): Command {
  const completion: Command = defineCommand({
    name: 'completion',
    summary: 'print the completion of commands and flags for a shell: bash, zsh or fish',
    arguments: [{ syntax: '<shell>', doc: 'bash, zsh or fish: source <(readership completion bash)' }],
    flags: z.object({}),
    async run({ args: [name], terminal }) {
      const shell = SHELLS.find((one) => one === name)
      if (shell === undefined)
        throw new Failure(`There is no completion for ${name}; the shells are ${SHELLS.join(', ')}.`, 2)
      terminal.out(FORMATS[shell](listPlaces([...commands, completion])))
    },
  })
  return completion
}
