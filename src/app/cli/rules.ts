import { z } from 'zod'
import { EXPORT_TARGETS } from '../../rules/export/export-text.js'
import { withClient } from './client.js'
import { defineCommand, defineRequest, idArgument, queryString } from './command.js'
import { exportCommand, removeCommand, SITE } from './decided-records.js'
import { readRuleFile } from './rule-file.js'
import { rulesTry } from './rules-try.js'
import { printTable, right } from './table.js'
import { Failure } from './terminal.js'

const KIND = { table: 'rules', label: 'rule' } as const
const RULE_ARGUMENT = { syntax: '<id>', doc: 'rule ID, from rules list' }
/** The fields of a rule that the commands print. */
const ShownRule = z.object({
  id: z.int(),
  position: z.int(),
  name: z.string(),
  action: z.string(),
  state: z.string(),
  until: z.string().optional(),
  ended: z.literal(true).optional(),
})
const ShownState = z.object({
  paused_since: z.string().optional(),
  setting_off: z.literal(true).optional(),
})

const rulesList = defineRequest({
  name: 'rules list',
  summary: 'list rules in the order in which they decide',
  flags: z.object({ site: SITE }),
  result: z.array(ShownRule),
  request: ({ flags }) => ['GET', `/api/rules${queryString(flags)}`],
  print: (rules, { terminal }) =>
    printTable(
      terminal,
      [right('#'), right('ID'), 'STATE', 'ACTION', 'NAME'],
      rules.map(({ position, id, state, ended, action, name }) => [
        String(position),
        String(id),
        ended ? 'ended' : state,
        action,
        name,
      ]),
    ),
})

const rulesAdd = defineCommand({
  name: 'rules add',
  summary: 'add the rules of a file; in rehearsal unless it says more',
  arguments: [{ syntax: '<file>', doc: 'JSON or YAML: a rule, or a list of rules in their order' }],
  flags: z.object({ site: SITE }),
  async run({ args, flags, terminal, config }) {
    const rules = await readRuleFile(args[0] ?? '')
    await withClient({ terminal, config }, async (client) => {
      const added: number[] = []
      try {
        for (const rule of rules) {
          const { id, name, state } = await client.read(ShownRule, 'POST', '/api/rules', { ...rule, ...flags })
          added.unshift(id)
          terminal.err(`Added rule ${id}, ${name}: ${state}.\n`)
        }
      } catch (error) {
        // All or nothing: half of a list may refuse what its other half allows.
        for (const id of added) {
          await client.call('DELETE', `/api/rules/${id}`)
          terminal.err(`Deleted rule ${id} again.\n`)
        }
        if (!(error instanceof Failure) || rules.length === 1) throw error
        const message = `Rule ${added.length + 1} of ${rules.length}, so none was added: ${error.message}`
        throw new Failure(message, error.exitCode, { cause: error })
      }
    })
  },
})

const rulesState = defineRequest({
  name: 'rules state',
  summary: 'switch a rule on, off or to rehearsal',
  arguments: [RULE_ARGUMENT, { syntax: '<state>', doc: 'on, off or rehearse' }],
  flags: z.object({}),
  result: ShownRule,
  request(call) {
    const state = z.enum(['on', 'off', 'rehearse']).safeParse(call.args[1])
    if (!state.success) throw new Failure('The state must be on, off or rehearse.', 2)
    return ['PATCH', `/api/rules/${idArgument(call, 'a rule', 'rules list')}`, { state: state.data }]
  },
  print: ({ id, name, state }, { terminal }) =>
    terminal.err(`Rule ${id}, ${name}, is ${state === 'rehearse' ? 'in rehearsal' : state}.\n`),
})

const rulesMove = defineRequest({
  name: 'rules move',
  summary: 'move a rule to another place of its list',
  arguments: [RULE_ARGUMENT, { syntax: '<position>', doc: 'place in the list, from 1' }],
  flags: z.object({}),
  result: ShownRule,
  request(call) {
    const position = z.coerce.number().int().min(1).safeParse(call.args[1])
    if (!position.success) throw new Failure('The position must be a whole number from 1.', 2)
    return ['PATCH', `/api/rules/${idArgument(call, 'a rule', 'rules list')}`, { position: position.data }]
  },
  print: ({ id, name, position }, { terminal }) => terminal.err(`Rule ${id}, ${name}, is number ${position} now.\n`),
})

/** Returns the command that pauses or resumes the rules of a site. */
const switchCommand = (verb: 'pause' | 'resume', summary: string) =>
  defineRequest({
    name: `rules ${verb}`,
    summary,
    flags: z.object({ site: SITE }),
    result: ShownState,
    request: ({ flags }) => ['POST', `/api/rules/${verb}`, flags],
    print({ paused_since, setting_off }, { terminal, flags }) {
      if (paused_since !== undefined)
        terminal.err(
          `Rules are paused since ${paused_since}. To resume: readership rules resume --site ${flags.site}\n`,
        )
      else terminal.err(setting_off ? 'The instance runs with --rules off: no rule decides.\n' : 'Rules are active.\n')
    },
  })

export const RULE_COMMANDS = [
  rulesList,
  rulesAdd,
  rulesState,
  rulesMove,
  removeCommand(KIND),
  switchCommand('pause', 'pause all rules of a site: every agent passes'),
  switchCommand('resume', 'end the pause of the rules of a site'),
  rulesTry,
  exportCommand(KIND, 'print the rules that are on, for another server', EXPORT_TARGETS),
]
