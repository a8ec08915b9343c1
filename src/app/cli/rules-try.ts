import { z } from 'zod'
import { formatNumber } from '../../analytics/export/format.js'
import type { Rehearsed } from '../../api/rehearsal/shape.js'
import { formatBytes } from '../../base/format-bytes.js'
import { shownPath } from '../../base/shown-path.js'
import { bar, barWidth } from './charts.js'
import { withClient } from './client.js'
import { defineCommand, JSON_FLAG, printJson, RANGE_FLAG } from './command.js'
import { SITE } from './decided-records.js'
import { escapeText } from './escape.js'
import { showRehearsal } from './progress.js'
import { readRuleFile } from './rule-file.js'
import { formatTable, right } from './table.js'
import { Failure, style, type Terminal } from './terminal.js'

export const rulesTry = defineCommand({
  name: 'rules try',
  summary: 'try rules on the recorded fetches: what each would have done',
  arguments: [{ syntax: '<file>', doc: 'JSON or YAML: a rule, or a list of rules in their order' }],
  examples: [{ line: 'rules try rules.yaml --range 30d', doc: 'the rules of a file on the last 30 days' }],
  flags: z.object({
    range: RANGE_FLAG,
    site: SITE,
    json: JSON_FLAG,
  }),
  async run(call) {
    const { args, flags, terminal } = call
    const { json, ...asked } = flags
    const rules = await readRuleFile(args[0] ?? '')
    const off = rules.filter(({ state }) => state === 'off').length
    if (off > 0) terminal.err(`${off} of ${rules.length} rules are off: they are left out.\n`)
    const answer = await withClient(call, (client) =>
      showRehearsal(terminal, client.textLines('/api/rules/rehearsal', { ...asked, rules, progress: true })),
    )
    // Loaded here, because no other command needs it.
    const { Rehearsed } = await import('../../api/rehearsal/shape.js')
    const result = Rehearsed.parse(answer)
    if (json) printJson(terminal, answer)
    else terminal.out(formatRehearsal(terminal, result))
    const problems = result.rules.flatMap(({ name, problems }) =>
      problems.map(({ field, message }) => `${name} decides nothing: ${message} (${field})`),
    )
    if (problems.length > 0) throw new Failure(problems.join(' '), 2)
  },
})

type Rule = Rehearsed['rules'][number]
const MAX_SHOWN = 10

function formatRehearsal(terminal: Terminal, { fetches, days, rules, limits }: Rehearsed): string {
  const would = days.reduce((sum, day) => sum + day.would, 0)
  const said = rules.flatMap((rule) => describe(rule, rules))
  const [only] = rules
  return `${[
    `Of ${formatNumber(fetches)} fetches these rules would refuse ${style(terminal, 'bold', formatNumber(would))}.\n`,
    formatRows(terminal, ['RULE', right('BYTES'), right('READERS AT RISK')], rules, (rule) => [
      `${rule.name}: ${rule.action}`,
      formatBytes(rule.would.bytes),
      formatNumber(rule.readers),
    ]),
    ...(rules.length === 1 && only && only.agents.length > 0
      ? [
          formatRows(terminal, ['AGENT', 'IDENTITY', right('OF'), right('READERS')], only.agents, (agent) => [
            agent.name,
            agent.identity ?? 'not checked',
            formatNumber(agent.fetches),
            formatNumber(agent.readers),
          ]),
          formatRows(terminal, ['PAGE', right('READERS')], only.pages, (page) => [
            `${page.hostname}${shownPath(page.pathname)}`,
            formatNumber(page.readers),
          ]),
        ]
      : []),
    said.map((text) => `${style(terminal, 'yellow', escapeText(text))}\n`).join(''),
    `${style(terminal, 'dim', 'The record cannot tell')}\n${limits.map((limit) => `  ${describeLimit(limit)}\n`).join('')}`,
  ]
    .filter((part) => part !== '')
    .join('\n')}`
}

/** Formats rows with the fetches that a rule decides before them, as a number and as a bar. */
function formatRows<T extends { would: number | { fetches: number } }>(
  terminal: Terminal,
  [name = '', ...titles]: Parameters<typeof formatTable>[1],
  all: readonly T[],
  cells: (row: T) => readonly string[],
): string {
  const countOf = ({ would }: T) => (typeof would === 'number' ? would : would.fetches)
  const [max, width] = [Math.max(0, ...all.map(countOf)), barWidth(terminal.columns)]
  const rows = all.slice(0, MAX_SHOWN).map((row) => {
    const [first = '', ...rest] = cells(row)
    return [formatNumber(countOf(row)), ...(width > 0 ? [bar(countOf(row), max, width)] : []), ...rest, first]
  })
  return formatTable(terminal, [right('WOULD'), ...(width > 0 ? [''] : []), ...titles, name], rows)
}

/** Says which verified search engines a rule would refuse, and which rule it never gets past. */
function describe(rule: Rule, rules: readonly Rule[]): string[] {
  const engines = rule.search_engines.map(
    ({ name, would, fetches, readers }) =>
      `${rule.name} would refuse the search engine ${name}: ${formatNumber(would)} of ${formatNumber(fetches)} fetches; it brought ${formatNumber(readers)} readers.`,
  )
  const before = rules.find(({ id }) => id === rule.never_decides?.by)
  if (!rule.never_decides || !before) return engines
  const taken = `${formatNumber(rule.never_decides.fetches)} fetches that it matches`
  return [...engines, `${rule.name} never decides: ${before.name} stands before it and takes ${taken}.`]
}

const LIMITS: Readonly<Record<Rehearsed['limits'][number]['kind'], string>> = {
  unverified: 'whether claims are true that could not be checked',
  not_recorded: 'what happened while nothing was recorded',
  budgets: 'what budgets had left',
  first_fetch: 'which addresses were known already when they came first',
  query: 'queries of URLs: rows have none',
  weight: 'how large refused responses would have been',
}

function describeLimit({ kind, fetches, from, to }: Rehearsed['limits'][number]): string {
  const amount = fetches === undefined ? '' : ` (${formatNumber(fetches)} fetches)`
  return `${LIMITS[kind]}${amount}${from === undefined ? '' : `, ${from} to ${to}`}`
}
