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

/** Returns the command that changes one field of a rule; the API says what is wrong with a value. */
const changeCommand = (verb: string, field: string, summary: string, argument: { syntax: string; doc: string }) =>
  defineRequest({
    name: `rules ${verb}`,
    summary,
    arguments: [RULE_ARGUMENT, argument],
    flags: z.object({}),
    result: ShownRule,
    request(call) {
      const [, given = ''] = call.args
      const id = idArgument(call, 'a rule', 'rules list')
      return ['PATCH', `/api/rules/${id}`, { [field]: /^\d+$/.test(given) ? Number(given) : given }]
    },
    print: ({ id, name, position, state }, { terminal }) =>
      terminal.err(
        `Rule ${id}, ${name}, is number ${position} and ${state === 'rehearse' ? 'in rehearsal' : state}.\n`,
      ),
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
  changeCommand('state', 'state', 'switch a rule on, off or to rehearsal', {
    syntax: '<state>',
    doc: 'on, off or rehearse',
  }),
  changeCommand('move', 'position', 'move a rule to another place of its list', {
    syntax: '<position>',
    doc: 'place in the list, from 1',
  }),
  removeCommand(KIND),
  switchCommand('pause', 'pause all rules of a site: every agent passes'),
  switchCommand('resume', 'end the pause of the rules of a site'),
  rulesTry,
  exportCommand(KIND, 'print the rules that are on, for another server', EXPORT_TARGETS),
]
