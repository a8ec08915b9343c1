import { existsSync, readFileSync } from 'node:fs'
import { CommanderError, Option, Command as Parser } from 'commander'
import { type Config, ConfigError, loadConfig, SETTINGS, type SettingName } from '../config.js'
import { agents, agentsIdentify } from './agents.js'
import { agentsReclassify } from './agents-reclassify.js'
import { agentsRefresh } from './agents-refresh.js'
import { audit } from './audit.js'
import type { Command } from './command.js'
import { doctor } from './doctor.js'
import { escapeText } from './escape.js'
import { keysCreate, keysList, keysRevoke } from './keys.js'
import { loginLink } from './login-link.js'
import { membersList, orgsCreate, orgsList } from './orgs.js'
import { policy } from './policy.js'
import { proxy } from './proxy.js'
import { serve } from './serve.js'
import { sitesCreate, sitesDelete, sitesIngestKey, sitesList, sitesUpdate } from './sites.js'
import { stats } from './stats.js'
import { tail } from './tail.js'
import { Failure, type Terminal } from './terminal.js'
import { usersCreate, usersDisableTotp, usersList, usersResetPassword } from './users.js'

/** Every command there is, in the order of `--help`. */
export const COMMANDS: readonly Command[] = [
  proxy,
  serve,
  tail,
  stats,
  policy,
  keysCreate,
  keysList,
  keysRevoke,
  sitesCreate,
  sitesList,
  sitesUpdate,
  sitesDelete,
  sitesIngestKey,
  orgsList,
  orgsCreate,
  membersList,
  audit,
  usersCreate,
  usersList,
  usersResetPassword,
  usersDisableTotp,
  loginLink,
  agents,
  agentsIdentify,
  agentsReclassify,
  agentsRefresh,
  doctor,
]

/**
 * Runs one command line to its end. Resolves to the exit code: 0, 1 for a failure explained in one line, 2 for wrong
 * usage (contract 2).
 */
export async function runProgram(argv: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new Parser('readership')
    .description("Analytics of a website's two readerships, people and agents.")
    .version(terminal.version)
    .exitOverride()
    // A command's flags stand behind its name: `agents identify --json` is not `agents --json`.
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
      getOutHasColors: () => terminal.colour,
      getErrHasColors: () => terminal.colour,
      // One line, also where a suggestion follows on the next.
      outputError: (text, write) => write(`${text.trim().replace(/\s*\n\s*/g, ' ')}\n`),
    })
  for (const command of COMMANDS) addCommand(parser, command, terminal)
  for (const group of parser.commands)
    if (group.description() === '') group.description(group.commands.map((one) => one.name()).join(', '))
  try {
    await parser.parseAsync([...argv], { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    terminal.err(`error: ${escapeText(errorMessage(error))}\n`)
    return error instanceof Failure ? error.exit : error instanceof ConfigError ? 2 : 1
  }
}

const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error)).trim()

function addCommand(parser: Parser, command: Command, terminal: Terminal): void {
  const words = command.name.split(' ')
  const last = words.pop() ?? ''
  const parent = words.reduce((at, word) => at.commands.find((one) => one.name() === word) ?? at.command(word), parser)
  // `agents` is a command and has one below it.
  const parserOfCommand = parent.enablePositionalOptions().command(last).description(command.summary)
  for (const { form, doc } of command.arguments ?? []) parserOfCommand.argument(form, doc)
  for (const setting of SETTINGS) {
    if (!setting.flag || !command.settings.includes(setting.name)) continue
    parserOfCommand.addOption(option(setting.flag, `${setting.doc}${formatDefault(setting.default)}`, setting.list))
  }
  for (const { form, doc, list } of command.flags ?? []) parserOfCommand.addOption(option(form, doc, list === true))
  parserOfCommand.option('--config <file>', 'settings file (default readership.yaml where there is one)')
  parserOfCommand.action(async () => {
    const flags: Record<string, unknown> = parserOfCommand.opts()
    await command.run({
      args: parserOfCommand.args,
      flags,
      config: loadCommandConfig(command, flags, parserOfCommand.args, terminal),
      terminal,
    })
  })
}

const option = (form: string, doc: string, list: boolean) => {
  const one = new Option(form, doc)
  return list ? one.argParser((value: string, before: string[] = []) => [...before, value]) : one
}

const formatDefault = (value: unknown): string =>
  value === undefined || (Array.isArray(value) && value.length === 0) ? '' : ` (default ${value})`

/** A command's flags in the words of the settings, over environment and file. */
function loadCommandConfig(
  command: Command,
  flags: Record<string, unknown>,
  args: readonly string[],
  terminal: Terminal,
): Config {
  const given: Partial<Record<SettingName, string | string[]>> = {}
  for (const name of command.settings) {
    const value = flags[name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())]
    if (typeof value === 'string') given[name] = value
    else if (Array.isArray(value)) given[name] = value.map(String)
    else if (value === true) given[name] = 'true'
  }
  if (command.settings.includes('origin') && args[0] !== undefined) given.origin = args[0]
  return loadConfig({
    flags: given,
    env: terminal.env,
    file: typeof flags.config === 'string' ? flags.config : undefined,
    read: (path) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined),
  })
}
