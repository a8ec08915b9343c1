import { z } from 'zod'
import { RANGES } from '../../analytics/query/envelope.js'
import type { Config, SettingName } from '../config.js'
import { type ApiRequest, withClient } from './client.js'
import { escapeJson } from './escape.js'
import { Failure, type Terminal } from './terminal.js'

/** One run of a command. */
export interface CommandCall<F = Readonly<Record<string, unknown>>> {
  args: readonly string[]
  /** The command's own flags by camel-case name: `--password-stdin` is `passwordStdin`. */
  flags: F
  config: Config
  terminal: Terminal
}

interface CommandInfo<T extends z.ZodObject = z.ZodObject> {
  /** As typed, such as `keys create`. */
  name: string
  /** One line for `--help` and the README, in the imperative. */
  summary: string
  /** In commander's notation: `<id>` is required, `[url]` optional. */
  arguments?: readonly { syntax: string; doc: string }[]
  /** Command lines without the program's name, and what each does, for the end of `--help`. A test runs them. */
  examples?: readonly { line: string; doc: string }[]
  /** Settings that the command accepts as flags, beside those that every command accepts. */
  settings?: readonly SettingName[]
  /** The command's own flags, each made with `flag`. */
  flags: T
}

/** A command as src/app/cli/program.ts registers it; `run` gets the flags as the parser returns them. */
export interface Command extends CommandInfo {
  run(call: CommandCall): Promise<void>
}

interface FlagInfo {
  /** In commander's notation: `--name <name>`. */
  syntax: string
  doc: string
  repeatable?: boolean
}
const flagInfo = new WeakMap<object, FlagInfo>()

/** Makes `schema` the schema of a flag, which `--help` lists with this syntax and description. */
export function flag<T extends z.ZodType>(syntax: string, doc: string, schema: T, repeatable = false): T {
  const copy = schema.clone()
  const isRequired = !schema.safeParse(undefined).success
  flagInfo.set(copy, { syntax, doc: isRequired ? `${doc} (required)` : doc, repeatable })
  return copy
}

/** Lists a command's own flags in the order of `--help`. */
export const listFlags = ({ flags }: CommandInfo): FlagInfo[] =>
  Object.values(flags.shape).flatMap((schema) => flagInfo.get(schema) ?? [])

/** Settings that every command accepts as flags, as it does `--config`. */
const COMMON_SETTINGS: readonly SettingName[] = ['data']

/** Lists the settings that a command accepts as flags. */
export const listSettings = ({ settings = [] }: CommandInfo): SettingName[] => [...COMMON_SETTINGS, ...settings]

/** Switches the output of a command to JSON. */
export const JSON_FLAG = flag('--json', 'print JSON', z.boolean().default(false))

export const DEFAULT_RANGE = '30d'

/** The time range of what is read. The API takes more; commands take the names. */
export const RANGE_FLAG = flag(
  '--range <range>',
  `${RANGES.slice(0, -1).join(', ')} or ${RANGES.at(-1)}; default ${DEFAULT_RANGE}`,
  z.enum(RANGES, `must be ${RANGES.slice(0, -1).join(', ')} or ${RANGES.at(-1)}`).optional(),
)

/** Schema of an ID on the command line; `what` names the record in the error, such as `a site`. */
export const idOf = (what: string) => z.string().regex(/^\d+$/, `must be the ID of ${what}`).transform(Number)

/** Returns the first argument; throws `Failure` if it is not an ID. `list` is the command that prints the IDs. */
export function idArgument({ args: [id = ''] }: CommandCall<unknown>, what: string, list: string): string {
  if (!/^\d+$/.test(id)) throw new Failure(`${id} is not the ID of ${what}; see readership ${list}.`, 2)
  return id
}

/** Checks `flags` against `schema`; the error names the flag as it was typed. */
function parseFlags<T extends z.ZodObject>(flags: Readonly<Record<string, unknown>>, schema: T): z.output<T> {
  const result = schema.safeParse(flags)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const key = String(issue?.path[0] ?? '')
  const name = key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const { message = 'is invalid' } = issue ?? {}
  // A schema without a message of its own has one of the parser.
  const says = flags[key] === undefined && message.startsWith('Invalid input') ? 'is missing' : message
  throw new Failure(`${name.length === 1 ? '-' : '--'}${name}: ${says}.`, 2)
}

/** Defines a command whose `run` gets its flags checked and typed. */
export function defineCommand<T extends z.ZodObject>(
  command: CommandInfo<T> & { run(call: CommandCall<z.output<T>>): Promise<void> },
): Command {
  return { ...command, run: (call) => command.run({ ...call, flags: parseFlags(call.flags, command.flags) }) }
}

/**
 * Defines a command that sends one request to the instance and prints the `data` of its response: as JSON with
 * `--json`, which is added to the flags, and otherwise with `print`.
 */
export function defineRequest<T extends z.ZodObject, R extends z.ZodType>(
  definition: CommandInfo<T> & {
    /** Creates the data directory if it does not exist. */
    create?: boolean
    /** Schema of the response's `data`. */
    result: R
    /** Runs before the command connects, so that wrong usage fails first. */
    request(call: CommandCall<z.output<T>>): ApiRequest | Promise<ApiRequest>
    print(data: z.output<R>, call: CommandCall<z.output<T>>): void
  },
): Command {
  const { create, result, request, print, ...info } = definition
  return {
    ...info,
    flags: z.object({ ...info.flags.shape, json: JSON_FLAG }),
    async run(raw) {
      const call = { ...raw, flags: parseFlags(raw.flags, info.flags) }
      const sent = await request(call)
      const data = await withClient(raw, (client) => client.read(result, ...sent), { create })
      if (raw.flags.json === true) printJson(raw.terminal, data)
      else print(data, call)
    },
  }
}

/** Prints `value` as indented JSON. */
export const printJson = (terminal: Terminal, value: unknown): void => terminal.out(`${escapeJson(value, 2)}\n`)

/** The flags of every command that choose the instance, for the schema of a command that repeats them in a hint. */
export const INSTANCE_FLAGS = { data: z.string().optional(), config: z.string().optional() }

/** Formats flags as they were typed, to be copied into another command; empty if none was given. */
export const repeatFlags = (flags: Readonly<Record<string, string | number | undefined>>): string =>
  Object.entries(flags)
    .map(([name, value]) => (value === undefined ? '' : ` --${name} ${quoteForShell(String(value))}`))
    .join('')

const quoteForShell = (text: string): string =>
  /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** Builds a query string from the parameters that are defined, with its `?`; empty if none is. */
export function queryString(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value))
  return query.size === 0 ? '' : `?${query}`
}
