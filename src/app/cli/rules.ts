import { z } from 'zod'
import { withClient } from './client.js'
import { defineCommand, defineRequest, flag, idArgument, idOf, queryString } from './command.js'
import { readRuleFile } from './rule-file.js'
import { printTable, right } from './table.js'
import { Failure } from './terminal.js'

const SITE = flag('--site <id>', 'site (default 1)', idOf('a site').default(1))
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
  version: z.string(),
  paused_since: z.string().optional(),
  setting_off: z.literal(true).optional(),
})

export const rulesList = defineRequest({
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

export const rulesAdd = defineCommand({
  name: 'rules add',
  summary: 'add the rules of a file; in rehearsal unless it says more',
  arguments: [{ syntax: '<file>', doc: 'JSON or YAML: a rule, or a list of rules in their order' }],
  flags: z.object({ site: SITE }),
  async run(call) {
    const rules = await readRuleFile(call.args[0] ?? '')
    await withClient(call, async (client) => {
      for (const rule of rules) {
        const { id, name, state } = await client.read(ShownRule, 'POST', '/api/rules', {
          ...rule,
          site: call.flags.site,
        })
        call.terminal.err(`Added rule ${id}, ${name}: ${state}.\n`)
      }
    })
  },
})

export const rulesState = defineRequest({
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

export const rulesMove = defineRequest({
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

export const rulesRemove = defineCommand({
  name: 'rules remove',
  summary: 'delete a rule',
  arguments: [RULE_ARGUMENT],
  flags: z.object({}),
  async run(call) {
    const id = idArgument(call, 'a rule', 'rules list')
    await withClient(call, (client) => client.call('DELETE', `/api/rules/${id}`))
    call.terminal.err(`Deleted rule ${id}.\n`)
  },
})

export const rulesPause = defineRequest({
  name: 'rules pause',
  summary: 'pause all rules of a site: every agent passes',
  flags: z.object({ site: SITE }),
  result: ShownState,
  request: ({ flags }) => ['POST', '/api/rules/pause', flags],
  print: ({ paused_since }, { terminal, flags }) =>
    terminal.err(`Rules are paused since ${paused_since}. To resume: readership rules resume --site ${flags.site}\n`),
})

export const rulesResume = defineRequest({
  name: 'rules resume',
  summary: 'end the pause of the rules of a site',
  flags: z.object({ site: SITE }),
  result: ShownState,
  request: ({ flags }) => ['POST', '/api/rules/resume', flags],
  print: ({ setting_off }, { terminal }) =>
    terminal.err(setting_off ? 'The instance runs with --rules off: no rule decides.\n' : 'Rules are active.\n'),
})
