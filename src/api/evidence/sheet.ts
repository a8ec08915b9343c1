import { z } from 'zod'
import { formatWindow, isInstant } from '../../analytics/export/format.js'
import type { Sheet } from '../../analytics/export/sheet.js'
import { createTables, MAX_PRINTED_ROWS } from '../../analytics/export/sheet-tables.js'
import { EvidenceDocument, Fetch } from './document.js'
import type { SignedEvidence } from './signed-file.js'
import { timeText } from './statements.js'

const { rules, own_rules, robots_txt, robots_reads, user_agents } = EvidenceDocument.shape
/** The lists of a document that are printed, with columns that fit on paper. */
const Printed = z.object({
  ...{ rules, own_rules: z.array(own_rules.element.omit({ definition: true })) },
  robots_txt: z.array(robots_txt.element.omit({ text: true, is_exact: true })),
  robots_txt_lines: z.array(z.object({ sha256: z.string(), line: z.int(), text: z.string() })),
  ...{ user_agents, robots_reads: z.array(robots_reads.element.omit({ user_agent: true })) },
  fetches: z.array(
    Fetch.pick({
      at: true,
      robots: true,
      line: true,
      rule: true,
      status: true,
      bytes: true,
      content_type: true,
    }).extend({
      ...{ request: z.string(), verification: z.string(), proof_at: z.string(), robots_read_at: z.string() },
    }),
  ),
})

/** Turns a folder into a sheet that names the file that it belongs to. */
export function createEvidenceSheet({ document, sha256, fingerprint, signature }: SignedEvidence): Sheet {
  const { site, agent, window, statements, limits, counts, made_at, made_by, robots_txt } = document
  const days = { start: new Date(window.start), end: new Date(window.end) }
  const lines = robots_txt.flatMap(({ text, sha256 }) =>
    (text?.trimEnd().split(/\r\n|\r|\n/) ?? []).map((text, i) => ({ sha256: sha256.slice(0, 16), line: i + 1, text })),
  )
  const fetches = document.fetches.map((one) => ({ ...one, request: `${one.method} ${one.hostname}${one.pathname}` }))
  const printed = { ...document, fetches, robots_txt_lines: lines.slice(0, MAX_PRINTED_ROWS) }
  const data: unknown = JSON.parse(JSON.stringify(printed), (_, value: unknown) =>
    typeof value === 'string' && isInstant(value) ? timeText(value).replace(' UTC', '') : value,
  )
  return {
    title: site.name,
    subtitle: `Evidence: ${agent.name}`,
    facts: [
      ['Window', `${formatWindow(days, site.timezone)} (${site.timezone})`],
      ['Made', `${timeText(made_at)} by ${made_by}`],
      ['SHA-256 of the document', sha256],
      ['Fingerprint of the key', fingerprint],
      ['Signature (Ed25519)', signature],
      ['SHA-256 of all fetches', counts.rows_sha256],
      ...statements.map((text, i) => [`${i + 1}`, text] as const),
    ],
    notes: [
      'This print belongs to the JSON file with that digest and signature, which `readership evidence verify` checks.',
      'Times in tables are UTC. Where a text ends in …, the file has all of it.',
      ...limits,
      ...(lines.length > MAX_PRINTED_ROWS ? [`The print has the first ${MAX_PRINTED_ROWS} lines of robots.txt.`] : []),
    ],
    ...{ charts: [], flows: [], grids: [] },
    tables: createTables({
      ...{ title: 'Evidence', read: { data: Printed }, tz: 'UTC', compared: false, data },
      ...{ metrics: new Set(), total: undefined },
    }),
    attribution: { text: `readership · ${sha256}`, link: 'https://www.rfc-editor.org/rfc/rfc8037' },
    created: new Date(made_at),
  }
}
