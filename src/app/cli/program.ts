import { existsSync, readFileSync } from 'node:fs'
import { CommanderError, Option, Command as Parser } from 'commander'
import { REPOSITORY } from '../../base/repository.js'
import { type Config, ConfigError, loadConfig, SETTINGS, type SettingName } from '../config.js'
import { agents, agentsIdentify, agentsReclassify, agentsRefresh } from './agents.js'
import { backup } from './backup.js'
import { type Command, listFlags, listSettings } from './command.js'
import { createCompletion } from './completion.js'
import { doctor } from './doctor.js'
import { escapeText } from './escape.js'
import { evidence, evidenceVerify } from './evidence.js'
import { formatExitCodes } from './exit-codes.js'
import { exportRows } from './export.js'
import { geoipUpdate } from './geoip.js'
import { formatExamples, HELP_FORMAT, helpColumns } from './help.js'
import { historyAdd, historyDelete, historyList } from './history.js'
import { importLogs } from './import.js'
import { importsDelete, importsList } from './imports.js'
import { keysCreate, keysList, keysRevoke } from './keys.js'
import { logReport } from './log-report.js'
import { loginLink } from './login-link.js'
import { mcp } from './mcp.js'
import { migrate } from './migrate.js'
import { audit, membersList, orgsCreate, orgsList } from './orgs.js'
import { policy } from './policy.js'
import { policyTry } from './policy-try.js'
import { REDIRECT_COMMANDS } from './redirects.js'
import { restore } from './restore.js'
import { RULE_COMMANDS } from './rules.js'
import { proxy, serve } from './server-commands.js'
import { sitesCreate, sitesDelete, sitesIngestKey, sitesList, sitesUpdate } from './sites.js'
import { stats } from './stats.js'
import { status } from './status.js'
import { storeAccept, storeAssign, storeStatus, storeVacuum } from './store.js'
import { tail } from './tail.js'
import { Failure, type Terminal } from './terminal.js'
import { upgrade } from './upgrade.js'
import { usersCreate, usersDisableTotp, usersList, usersResetPassword } from './users.js'

const COMMANDS_WITHOUT_COMPLETION: readonly Command[] = [
  proxy,
  serve,
  tail,
  stats,
  status,
  logReport,
  importLogs,
  importsList,
  importsDelete,
  historyAdd,
  historyList,
  historyDelete,
  policy,
  policyTry,
  evidence,
  evidenceVerify,
  mcp,
  ...RULE_COMMANDS,
  ...REDIRECT_COMMANDS,
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
  geoipUpdate,
  storeStatus,
  storeAssign,
  storeAccept,
  storeVacuum,
  migrate,
  backup,
  restore,
  exportRows,
  doctor,
  upgrade,
]

/** All commands in the order of `--help`. */
export const COMMANDS: readonly Command[] = [
  ...COMMANDS_WITHOUT_COMPLETION,
  createCompletion(COMMANDS_WITHOUT_COMPLETION),
]

export const DESCRIPTION = 'Web analytics that counts people and AI agents separately.'
/** Says where the documentation is, for the end of `--help` and of the manual page. */
export const SEE_ALSO = `Documentation: /docs/ beside the dashboard, and\n${REPOSITORY}`

/**
 * Runs one command line. Returns its exit code; one line on standard error explains a failure.
 */
export async function runProgram(argv: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new Parser('readership')
    .description(DESCRIPTION)
    .version(terminal.version)
    .exitOverride()
    .configureHelp(HELP_FORMAT)
    // Flags belong to the command that they follow: `agents identify --json` is not `agents --json`.
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
      getOutHelpWidth: () => helpColumns(terminal.columns),
      getErrHelpWidth: () => helpColumns(terminal.errColumns),
      getOutHasColors: () => terminal.colour,
      getErrHasColors: () => terminal.colour,
      // Errors take one line, so a suggestion on the next line is joined.
      outputError: (text, write) => write(`${text.trim().replace(/\s*\n\s*/g, ' ')}\n`),
    })
  parser.addHelpText('after', () => `\n${formatExitCodes(helpColumns(terminal.columns))}\n${SEE_ALSO}\n`)
  for (const command of COMMANDS) addCommand(parser, command, terminal)
  for (const group of parser.commands)
    if (group.description() === '') group.description(group.commands.map((command) => command.name()).join(', '))
  try {
    await parser.parseAsync([...argv], { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const message = error instanceof Error ? error.message : String(error)
    terminal.err(`error: ${escapeText(message.trim())}\n`)
    return error instanceof Failure ? error.exitCode : error instanceof ConfigError ? 2 : 1
  }
}

function addCommand(root: Parser, command: Command, terminal: Terminal): void {
  const words = command.name.split(' ')
  const last = words.pop() ?? ''
  const parent = words.reduce(
    (group, word) => group.commands.find((existing) => existing.name() === word) ?? group.command(word),
    root,
  )
  // `agents` is a command and also has subcommands.
  const parser = parent.enablePositionalOptions().command(last).description(command.summary)
  for (const { syntax, doc } of command.arguments ?? []) parser.argument(syntax, doc)
  const settings = listSettings(command)
  for (const setting of SETTINGS)
    if (setting.flag && settings.includes(setting.name))
      parser.addOption(createOption(setting.flag, setting.doc + formatDefault(setting.default), setting.list))
  for (const { syntax, doc, repeatable } of listFlags(command))
    parser.addOption(createOption(syntax, doc, repeatable === true))
  parser.option('--config <file>', 'settings file (default: readership.yaml if it exists)')
  if (command.examples) parser.addHelpText('after', () => `\n${formatExamples(command.examples)}`)
  parser.action(async () => {
    const { args } = parser
    const flags: Record<string, unknown> = parser.opts()
    await command.run({ args, flags, config: loadCommandConfig(command, flags, args, terminal), terminal })
  })
}

const createOption = (syntax: string, doc: string, repeatable: boolean) => {
  const option = new Option(syntax, doc)
  return repeatable ? option.argParser((value: string, before: string[] = []) => [...before, value]) : option
}

export const formatDefault = (value: unknown): string =>
  value === undefined || value === false || (Array.isArray(value) && value.length === 0) ? '' : ` (default ${value})`

/** Loads the settings: the command's flags over environment and file. */
function loadCommandConfig(
  command: Command,
  flags: Record<string, unknown>,
  args: readonly string[],
  terminal: Terminal,
): Config {
  const given: Partial<Record<SettingName, string | string[]>> = {}
  const settings = listSettings(command)
  for (const name of settings) {
    const value = flags[name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())]
    if (typeof value === 'string') given[name] = value
    else if (Array.isArray(value)) given[name] = value.map(String)
    else if (value === true) given[name] = 'true'
  }
  if (settings.includes('origin') && args[0] !== undefined) given.origin = args[0]
  return loadConfig({
    flags: given,
    env: terminal.env,
    file: typeof flags.config === 'string' ? flags.config : undefined,
    read: (path) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined),
  })
}
