import { z } from 'zod'
import { EXPORT_TARGETS } from '../../rules/export/export-text.js'
import { withClient } from './client.js'
import {
  defineCommand,
  defineRequest,
  INSTANCE_FLAGS,
  idArgument,
  JSON_FLAG,
  printJson,
  queryString,
  repeatFlags,
} from './command.js'
import { exportCommand, removeCommand, SITE } from './decided-records.js'
import { readRuleFile, withoutRecord } from './rule-file.js'
import { rulesTry } from './rules-try.js'
import { printTable, right } from './table.js'
import { Failure } from './terminal.js'

const KIND = { table: 'rules', label: 'rule' } as const
const RULE_ARGUMENT = { syntax: '<id>', doc: 'rule ID, from rules list' }
const Names = z.array(z.string()).default([])
/** The fields of a rule that the commands print; `--json` prints all. */
const ShownRule = z.looseObject({
  id: z.int(),
  position: z.int(),
  name: z.string(),
  action: z.string(),
  state: z.string(),
  until: z.string().optional(),
  ended: z.literal(true).optional(),
  ...{ agents: Names, operators: Names, purposes: Names, identity: Names, paths: Names, methods: Names },
  disallowed: z.boolean().default(false),
  budget: z.object({ limit: z.int(), unit: z.string(), per: z.string(), by: z.string() }).optional(),
})
const SiteFlags = z.object({ site: SITE, ...INSTANCE_FLAGS })
type SiteFlags = z.output<typeof SiteFlags>
const ShownState = z.object({
  paused_since: z.string().optional(),
  setting_off: z.literal(true).optional(),
})

/** Names the conditions of a rule. */
function describe({ agents, operators, purposes, budget, ...rule }: z.output<typeof ShownRule>): string {
  const who = [...agents, ...operators, ...purposes].join(', ')
  const conditions = [
    who || 'any agent',
    rule.identity.join(' or '),
    rule.disallowed ? 'disallowed by robots.txt' : '',
    rule.methods.join(', '),
    rule.paths.join(', '),
    budget ? `beyond ${budget.limit} ${budget.unit} per ${budget.per} by ${budget.by}` : '',
  ]
  return conditions.filter(Boolean).join('; ')
}

/** Says that rules are paused or switched off, with the command that resumes them; nothing while they decide. */
function pauseLine({ paused_since, setting_off }: z.output<typeof ShownState>, flags: SiteFlags): string {
  if (setting_off) return 'The instance runs with --rules off: no rule decides.\n'
  if (paused_since === undefined) return ''
  return `Rules are paused since ${paused_since}. To resume: readership rules resume${repeatFlags(flags)}\n`
}

const rulesList = defineCommand({
  name: 'rules list',
  summary: 'list rules in the order in which they decide',
  flags: SiteFlags.extend({ json: JSON_FLAG }),
  run: ({ terminal, config, flags: { json, ...flags } }) =>
    withClient({ terminal, config }, async (client) => {
      const site = queryString({ site: flags.site })
      const rules = await client.read(z.array(ShownRule), 'GET', `/api/rules${site}`)
      if (json) return printJson(terminal, rules)
      const state = await client.read(ShownState, 'GET', `/api/rules/state${site}`)
      printTable(
        terminal,
        [right('#'), right('ID'), 'STATE', 'ACTION', 'NAME', 'MATCHES'],
        rules.map((rule) => [
          String(rule.position),
          String(rule.id),
          rule.ended ? 'ended' : rule.state,
          rule.action,
          rule.name,
          describe(rule),
        ]),
      )
      terminal.err(pauseLine(state, flags))
    }),
})

const rulesAdd = defineCommand({
  name: 'rules add',
  summary: 'add the rules of a file; in rehearsal unless it says more',
  arguments: [
    {
      syntax: '<file>',
      doc: 'JSON or YAML: a rule such as {name: No GPTBot, agents: [gptbot], action: block}, or a list of rules in their order; docs/rules.html has all fields',
    },
  ],
  examples: [{ line: 'rules add rules.yaml', doc: 'in rehearsal: counted, without an effect' }],
  flags: z.object({ site: SITE }),
  async run({ args, flags, terminal, config }) {
    const rules = await readRuleFile(args[0] ?? '')
    await withClient({ terminal, config }, async (client) => {
      const added: number[] = []
      try {
        for (const rule of rules) {
          const { id, name, state, ended } = await client.read(ShownRule, 'POST', '/api/rules', {
            ...withoutRecord(rule),
            ...flags,
          })
          added.unshift(id)
          terminal.err(`Added rule ${id}, ${name}: ${ended ? 'ended' : state}.\n`)
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
    flags: SiteFlags,
    result: ShownState,
    request: ({ flags: { site } }) => ['POST', `/api/rules/${verb}`, { site }],
    print: (state, { terminal, flags }) => terminal.err(pauseLine(state, flags) || 'Rules are active.\n'),
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
