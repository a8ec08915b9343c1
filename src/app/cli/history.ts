import { z } from 'zod'
import { formatNumber } from '../../analytics/export/format.js'
import { parseDay } from '../../analytics/query/calendar.js'
import { type CollectedHistory, collectHistory } from '../../history/other-tools/collect.js'
import { TOOLS } from '../../history/other-tools/formats.js'
import { AddedHistory, History } from '../../manage/other-tools.js'
import { ManagedSite } from '../../manage/sites.js'
import { withClient } from './client.js'
import {
  defineCommand,
  defineRequest,
  flag,
  INSTANCE_FLAGS,
  idArgument,
  idOf,
  JSON_FLAG,
  printJson,
  repeatFlags,
} from './command.js'
import { escapeText } from './escape.js'
import { printTable, right } from './table.js'
import type { Terminal } from './terminal.js'

/** Two days, such as `2026-08-01..2026-10-31`. */
const Period = z
  .string()
  .transform((text) => text.split('..'))
  .refine(
    ([first = '', last = '', ...rest]) =>
      rest.length === 0 && parseDay(first) !== undefined && parseDay(last) !== undefined && first <= last,
    'must be two days, such as 2026-08-01..2026-10-31',
  )
  .transform(([first = '', last = '']) => ({ first, last }))
const SITE_FLAG = flag('--site <id>', 'site (default 1)', idOf('a site').default(1))

export const historyAdd = defineCommand({
  name: 'history add',
  summary:
    "add the days of another tool's export, shown in totals and time lines before readership's own, or a search engine's counts of pages",
  arguments: [
    { syntax: '<files...>', doc: 'the files of one export: ZIP, CSV, NDJSON or SQL, also .gz; the format is detected' },
  ],
  flags: z.object({
    site: SITE_FLAG,
    from: flag(
      '--from <tool>',
      `the tool, instead of the detected one: ${TOOLS.join(', ')}`,
      z.enum(TOOLS, `must be one of ${TOOLS.join(', ')}`).optional(),
    ),
    website: flag('--website <id>', "the website's id in Umami, if the export has several", z.string().optional()),
    period: flag('--period <first..last>', 'the days of counts of pages, if no file says them', Period.optional()),
    dryRun: flag('--dry-run', 'show what the files have, and add nothing', z.boolean().default(false)),
    json: JSON_FLAG,
    ...INSTANCE_FLAGS,
  }),
  run: (call) =>
    withClient(call, async (client) => {
      const { args, flags, terminal } = call
      const path = `/api/sites/${flags.site}`
      const { timezone } = await client.read(ManagedSite, 'GET', path)
      const collected = await collectHistory(args, {
        ...{ tz: timezone, tool: flags.from, website: flags.website, period: flags.period },
      })
      const { tool, days, pages, files } = collected
      if (!flags.json) showCollected(terminal, collected)
      if (flags.dryRun) {
        if (flags.json) printJson(terminal, collected)
        return
      }
      const names = files.map(({ name }) => escapeText(name).slice(-200)).slice(0, 100)
      const added = await client.read(AddedHistory, 'POST', `${path}/history`, { tool, files: names, days, pages })
      if (flags.json) return printJson(terminal, added)
      const { id, left_out } = added
      if (left_out > 0)
        terminal.out(`${countOf(left_out, 'day')} left out: an earlier addition has them (readership history list).\n`)
      const { site, data, config } = flags
      const which = repeatFlags({ ...(site === 1 ? {} : { site }), data, config })
      terminal.out(
        `Added ${added.pages === undefined ? countOf(added.days, 'day') : countOf(added.pages, 'page')} as ${id}; to undo it: readership history delete ${id}${which}\n`,
      )
    }),
})

const countOf = (n: number, what: string) => `${formatNumber(n)} ${what}${n === 1 ? '' : 's'}`

function showCollected(terminal: Terminal, { files, unused, days, pages }: CollectedHistory): void {
  for (const { name, title, because, rows, broken, skipped } of files) {
    const parts = [
      `${name}: ${title} (${because})`,
      countOf(rows, 'row'),
      ...(skipped > 0 ? [`${formatNumber(skipped)} not counted`] : []),
      ...(broken > 0 ? [`${formatNumber(broken)} broken`] : []),
    ]
    terminal.out(`${escapeText(parts.join(', '))}\n`)
  }
  for (const name of unused) terminal.out(`${escapeText(name)}: not used, it has neither totals of days nor pages\n`)
  if (pages) {
    const totals = (['citations', 'clicks', 'impressions'] as const).flatMap((figure) => {
      const values = pages.rows.flatMap((page) => page[figure] ?? [])
      return values.length === 0
        ? []
        : [
            countOf(
              values.reduce((sum, n) => sum + n, 0),
              figure.slice(0, -1),
            ),
          ]
    })
    const count = countOf(pages.rows.length, 'page')
    terminal.out(`${count} from ${pages.first_day} to ${pages.last_day}: ${totals.join(', ')}\n`)
    return
  }
  const sumOf = (figure: 'visitors' | 'visits' | 'pageviews') =>
    days.some((day) => day[figure] !== null)
      ? [
          countOf(
            days.reduce((sum, day) => sum + (day[figure] ?? 0), 0),
            figure.slice(0, -1),
          ),
        ]
      : []
  const sums = [...sumOf('visitors'), ...sumOf('visits'), ...sumOf('pageviews')].join(', ')
  terminal.out(`${countOf(days.length, 'day')} from ${days[0]?.day} to ${days.at(-1)?.day}: ${sums}\n`)
}

export const historyList = defineRequest({
  name: 'history list',
  summary: 'list the additions of days and pages that other tools counted',
  flags: z.object({ site: SITE_FLAG }),
  result: z.array(History),
  request: ({ flags }) => ['GET', `/api/sites/${flags.site}/history`],
  print(histories, { terminal }) {
    if (histories.length === 0) return terminal.out('None. Add one: readership history add export.zip\n')
    printTable(
      terminal,
      [right('ID'), 'TOOL', right('DAYS'), right('PAGES'), 'FIRST', 'LAST', 'ADDED', 'FILES'],
      histories.map(({ id, tool, days, pages, first_day, last_day, created_at, files }) => [
        String(id),
        tool,
        formatNumber(days),
        pages === undefined ? '' : formatNumber(pages),
        first_day,
        last_day,
        created_at.slice(0, 10),
        files.join(', '),
      ]),
    )
  },
})

export const historyDelete = defineCommand({
  name: 'history delete',
  summary: 'delete an addition with its days or pages; the site is as it was before',
  arguments: [{ syntax: '<id>', doc: 'its ID, from history list' }],
  flags: z.object({ site: SITE_FLAG }),
  async run(call) {
    const id = idArgument(call, 'a history', 'history list')
    await withClient(call, (client) => client.call('DELETE', `/api/sites/${call.flags.site}/history/${id}`))
    call.terminal.err(`Deleted history ${id}.\n`)
  },
})
