import type { z } from 'zod'
import type { Config, SettingName } from '../config.js'
import { Failure, type Terminal } from './terminal.js'

/** One command as a value; src/cli/program.ts puts them behind the argument parser. */
export interface Command {
  /** As typed: `keys create`. */
  name: string
  summary: string
  /** The parser's notation: `<id>`, `[url]`. */
  arguments?: readonly { form: string; doc: string }[]
  /** Settings that are flags of this command. */
  settings: readonly SettingName[]
  flags?: readonly { form: string; doc: string; list?: true }[]
  run(call: CommandCall): Promise<void>
}

export interface CommandCall {
  args: readonly string[]
  /** By camel-case name, as the parser has them. */
  flags: Readonly<Record<string, unknown>>
  config: Config
  terminal: Terminal
}

export const JSON_FLAG = { form: '--json', doc: 'print JSON' }

/** The flags as `schema` has them; what is wrong is named as it was typed. */
export function parseFlags<T extends z.ZodObject>(call: CommandCall, schema: T): z.output<T> {
  const result = schema.safeParse(call.flags)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const name = String(issue?.path[0] ?? '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  throw new Failure(`${name.length === 1 ? '-' : '--'}${name}: ${issue?.message ?? 'is invalid'}.`, 2)
}
