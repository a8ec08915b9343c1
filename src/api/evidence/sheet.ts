import { formatWindow } from '../../analytics/export/format.js'
import type { Sheet, Table } from '../../analytics/export/sheet.js'
import type { SignedEvidence } from './signed-file.js'

/** Lines of a robots.txt that are printed; the JSON has all. */
const MAX_LINES = 400

/** Turns a folder into a sheet that names the file that it belongs to. */
export function createEvidenceSheet({ document, sha256, fingerprint, signature }: SignedEvidence): Sheet {
  const { site, agent, window, statements, limits, counts } = document
  const { start, end } = { start: new Date(window.start), end: new Date(window.end) }
  return {
    title: site.name,
    subtitle: `Evidence: ${agent.name}`,
    facts: [
      ['Window', `${formatWindow({ start, end }, site.timezone)} (${site.timezone})`],
      ['Made', `${document.made_at} by ${document.made_by}`],
      ['SHA-256 of the document', sha256],
      ['Fingerprint of the key', fingerprint],
      ['Signature (Ed25519)', signature],
      ['SHA-256 of all fetches', counts.rows_sha256],
      ...statements.map((text, i) => [`${i + 1}`, text] as const),
    ],
    notes: [
      'This print belongs to the JSON file with that digest and signature, which `readership evidence verify` checks.',
      ...limits,
    ],
    charts: [],
    flows: [],
    grids: [],
    tables: listTables(document),
    attribution: { text: `readership · ${sha256}`, link: 'https://www.rfc-editor.org/rfc/rfc8037' },
    created: new Date(document.made_at),
  }
}

function listTables({
  rules,
  own_rules,
  robots_txt,
  robots_reads,
  fetches,
  counts,
}: SignedEvidence['document']): Table[] {
  return [
    table(
      'Rules of robots.txt',
      ['Hostname', 'Pattern', 'Line', 'Text', 'SHA-256', '#Fetches', 'First', 'Last'],
      rules,
      (one) => [...[one.hostname, one.pattern, one.line, one.line_text, one.sha256, one.fetches, one.first, one.last]],
    ),
    table('Rules of the site', ['Rule', 'Name', 'Action', '#Fetches', 'First', 'Last'], own_rules, (one) => [
      ...[one.id, one.name, one.action, one.fetches, one.first, one.last],
    ]),
    table('Versions of robots.txt', ['Hostname', 'SHA-256', 'From', 'To', '#Status'], robots_txt, (one) => [
      ...[one.hostname, one.sha256, one.since, one.until, one.status],
    ]),
    ...robots_txt.flatMap(({ text, sha256 }) =>
      text === null
        ? []
        : [
            table(
              `Text of ${sha256.slice(0, 16)}…`,
              ['#Line', 'Text'],
              text
                .split(/\r\n|\r|\n/)
                .slice(0, MAX_LINES)
                .map((line, i) => ({ line, i })),
              ({ line, i }) => [i + 1, line],
            ),
          ],
    ),
    table('Fetches of robots.txt', ['Time', 'Hostname', '#Status', 'Identity', 'User agent'], robots_reads, (one) => [
      ...[one.at, one.hostname, one.status, one.verification, one.user_agent],
    ]),
    table(
      `Fetches: ${counts.listed} of ${counts.fetches}`,
      [
        'Time',
        'Request',
        'robots.txt',
        'Line',
        'Rule',
        '#Status',
        '#Bytes',
        'Type',
        'Identity',
        'Copy of',
        'robots.txt read',
        'User agent',
      ],
      fetches,
      (one) => [
        ...[one.at, `${one.method} ${one.hostname}${one.pathname}`, one.robots, one.line, one.rule, one.status],
        ...[one.bytes, one.content_type, one.verification, one.proof_at, one.robots_read_at, one.user_agent],
      ],
    ),
  ]
}

/** Makes a table; a title that begins with `#` is of a column of numbers. */
const table = <T>(
  title: string,
  columns: readonly string[],
  rows: readonly T[],
  cells: (row: T) => readonly (string | number | null)[],
): Table => ({
  title,
  columns: columns.map((name) => ({ title: name.replace('#', ''), right: name.startsWith('#') })),
  rows: rows.map((row) => cells(row).map((cell) => (cell === null ? '' : String(cell)))),
})
