import { z } from 'zod'
import { AuditEntry } from '../manage/audit-log.js'
import { connect } from './client.js'
import { type Command, JSON_FLAG, parseFlags } from './command.js'
import { escapeJson } from './escape.js'
import { formatTable } from './table.js'

const Flags = z.object({
  org: z.string().regex(/^\d+$/, 'must be the id of an organisation').optional(),
  n: z.string().regex(/^\d+$/, 'is a number').default('50'),
  json: z.boolean().default(false),
})

export const audit: Command = {
  name: 'audit',
  summary: 'what was done, by whom and from where, the newest last',
  settings: ['data'],
  flags: [
    { form: '--org <id>', doc: 'in one organisation (default: in all)' },
    { form: '-n <rows>', doc: 'so many of the newest, at most 1000 (default 50)' },
    JSON_FLAG,
  ],
  async run(call) {
    const { org, n, json } = parseFlags(call, Flags)
    const client = await connect(call.config, call.terminal)
    try {
      const query = new URLSearchParams({ limit: n, ...(org === undefined ? {} : { org }) })
      const answer = await client.call('GET', `/control/audit?${query}`)
      const data = z
        .object({ data: z.array(AuditEntry) })
        .parse(answer)
        .data.toReversed()
      if (json) call.terminal.out(`${escapeJson(data, 2)}\n`)
      else
        call.terminal.out(
          formatTable(
            call.terminal,
            [
              { title: 'TIME' },
              { title: 'ORG', right: true },
              { title: 'WHO' },
              { title: 'FROM' },
              { title: 'DID' },
              { title: 'TO' },
              { title: 'DETAILS' },
            ],
            data.map(({ at, org, actor, ip, action, object, object_id, details }) => [
              at,
              String(org),
              actor,
              ip ?? '-',
              action,
              object_id === undefined ? object : `${object} ${object_id}`,
              details === undefined ? '' : JSON.stringify(details),
            ]),
          ),
        )
    } finally {
      await client.close()
    }
  },
}
