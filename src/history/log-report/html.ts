import { formatNumber, formatPercent, formatWindow } from '../../analytics/export/format.js'
import { formatBytes } from '../../base/format-bytes.js'
import { shownPath } from '../../base/shown-path.js'
import { PATH, ROWS, table } from './html-table.js'
import { peopleSections, serverSections } from './html-traffic.js'
import { escapeHtml, type Html, html, join } from './markup.js'
import type { LogReport } from './report.js'

/**
 * Formats a report as one HTML page without scripts, which needs no other file and asks no other server. A page that is
 * written again and again loads itself every `reload_s` seconds.
 */
export function formatHtml(report: LogReport, reload_s?: number): string {
  const title =
    report.files.length === 1 ? (report.files[0]?.name ?? 'Access log') : `${report.files.length} access logs`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
${reload_s === undefined ? '' : `<meta http-equiv="refresh" content="${reload_s}">\n`}<title>${escapeHtml(title)}: people and agents</title>
<style>${STYLE}</style>
${page(title, report)}
</html>
`
}

function page(title: string, report: LogReport): string {
  const { window, tz, lines, files } = report
  const span = window && formatWindow({ start: new Date(window.start), end: new Date(window.end) }, tz)
  const formats = [...new Set(files.map(({ format }) => format))].join(', ')
  return html`<body>
<header><h1>${title}</h1><p>${[span && `${span} (${tz})`, formats, `${formatNumber(lines.read)} lines`].filter(Boolean).join(' · ')}</p></header>
<main>
${unknownSection(report)}
<section class="totals">${peopleTotals(report)}${agentTotals(report)}</section>
<figure>${drawSeries(report.series)}</figure>
${peopleSections(report)}
<div class="halves">${arrivalSection(report)}${assistantSection(report)}</div>
${agentSection(report)}
<div class="halves">${operatorSection(report)}${purposeSection(report)}</div>
${robotsSection(report)}
<div class="halves">${errorSection(report)}${unnamedSection(report)}</div>
${serverSections(report)}
</main>
<footer>${notes(report)}<p>Made by <code>readership report</code> from the log alone: a request is an agent’s if its user agent says so.</p></footer>
</body>`.text
}

const totals = (name: string, kind: string, share: number, facts: readonly (readonly [string, string])[]): Html =>
  html`<div class="${kind}"><h2>${name} <small>${formatPercent(share)} of all requests</small></h2><dl>${join(
    facts.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`),
  )}</dl></div>`

const shareOf = (part: number, { people, agents }: LogReport): number =>
  part / Math.max(1, people.requests + agents.requests)

const peopleTotals = (report: LogReport): Html =>
  totals('People', 'people', shareOf(report.people.requests, report), [
    ['pageviews', formatNumber(report.people.pageviews)],
    ['people', formatNumber(report.people.visitors)],
    ['visits', formatNumber(report.people.sessions)],
    ['sent', formatBytes(report.people.bytes)],
  ])

const agentTotals = (report: LogReport): Html =>
  totals('Agents', 'agents', shareOf(report.agents.requests, report), [
    ['requests', formatNumber(report.agents.requests)],
    ['known agents', formatNumber(report.agents.agents)],
    ['operators', formatNumber(report.agents.operators)],
    ['sent', formatBytes(report.agents.bytes)],
  ])

const empty = (title: string, text: string): Html =>
  html`<section><h2>${title}</h2><p class="muted">${text}</p></section>`

const errorsOf = ({ client_errors, server_errors, requests }: LogReport['by_agent'][number]): string =>
  formatPercent((client_errors + server_errors) / requests)

function agentSection({ by_agent, robots, tz }: LogReport): Html {
  if (by_agent.length === 0) return empty('Agents', 'No agent was seen.')
  // Swedish writes dates as ISO 8601 does.
  const local = new Intl.DateTimeFormat('sv-SE', { timeZone: tz, dateStyle: 'short', timeStyle: 'short' })
  return table(
    'Agents',
    by_agent,
    [
      { title: 'Agent', value: ({ name }) => name },
      { title: 'Requests', value: ({ requests }) => formatNumber(requests), isNumber: true },
      { title: 'Errors', value: errorsOf, isNumber: true },
      ...(robots
        ? [
            {
              title: 'Disallowed',
              value: (agent: LogReport['by_agent'][number]) => formatNumber(agent.disallowed ?? 0),
              isNumber: true,
            },
          ]
        : []),
      { title: 'Purpose', value: ({ purpose }) => purpose },
      { title: 'Operator', value: ({ operator }) => operator },
      { title: 'Last seen', value: ({ last_seen }) => local.format(new Date(last_seen)), isNumber: true },
    ],
    ({ requests }) => requests,
    { limit: Number.POSITIVE_INFINITY },
  )
}

const operatorSection = ({ by_operator }: LogReport): Html =>
  table(
    'Operators',
    by_operator,
    [
      { title: 'Operator', value: ({ operator }) => operator },
      { title: 'Requests', value: ({ requests }) => formatNumber(requests), isNumber: true },
      { title: 'Purposes', value: ({ purposes }) => purposes.join(', ') },
    ],
    ({ requests }) => requests,
  )

const purposeSection = ({ by_purpose }: LogReport): Html =>
  table(
    'Purposes',
    by_purpose,
    [
      { title: 'Purpose', value: ({ purpose }) => purpose },
      { title: 'Requests', value: ({ requests }) => formatNumber(requests), isNumber: true },
      { title: 'Sent', value: ({ bytes }) => formatBytes(bytes), isNumber: true },
    ],
    ({ requests }) => requests,
  )

const OBEYS = { yes: 'says that it obeys', no: 'says that it does not obey', unknown: 'says nothing' } as const

function robotsSection({ robots }: LogReport): Html {
  if (robots === undefined) return html``
  const title = 'Disallowed by robots.txt, and fetched'
  if (robots.rules.length === 0) return empty(title, `Every agent obeyed ${robots.source}.`)
  return table(
    title,
    robots.rules,
    [
      { title: 'Agent', value: ({ name }) => name },
      { title: 'Requests', value: ({ requests }) => formatNumber(requests), isNumber: true },
      { title: 'Rule', value: ({ rule, line }) => html`<code>${rule}</code>, line ${String(line)}` },
      { title: 'Such as', value: ({ pathname }) => html`<code>${shownPath(pathname)}</code>` },
      { title: 'Its operator', value: ({ respects_robots }) => OBEYS[respects_robots] },
    ],
    ({ requests }) => requests,
  )
}

function assistantSection({ read_by_assistants }: LogReport): Html {
  const title = 'Read most by AI assistants'
  if (read_by_assistants.length === 0) return empty(title, 'None fetched a page.')
  const requests = {
    title: 'Requests',
    value: (row: { requests: number }) => formatNumber(row.requests),
    isNumber: true,
  }
  return table(title, read_by_assistants.slice(0, ROWS), [PATH, requests], (row) => row.requests)
}

function arrivalSection({ arrivals }: LogReport): Html {
  const title = `Pageviews from AI assistants: ${formatNumber(arrivals.pageviews)}`
  if (arrivals.assistants.length === 0) return empty(title, 'No pageview names an assistant as its source.')
  const pageviews = {
    title: 'Pageviews',
    value: (row: { pageviews: number }) => formatNumber(row.pageviews),
    isNumber: true,
  }
  const assistant = { title: 'Assistant', value: ({ name }: { name: string }) => name }
  return table(title, arrivals.assistants.slice(0, ROWS), [assistant, pageviews], (row) => row.pageviews, {
    kind: 'people',
  })
}

function errorSection({ errors }: LogReport): Html {
  if (errors.length === 0) return html``
  return table(
    'Errors that agents met',
    errors.slice(0, ROWS),
    [
      PATH,
      { title: 'Requests', value: ({ requests }) => formatNumber(requests), isNumber: true },
      { title: 'Status', value: ({ status }) => String(status), isNumber: true },
      { title: 'By', value: ({ agents }) => agents.join(', ') },
    ],
    ({ requests }) => requests,
  )
}

function unknownSection({ unknown_readers: unknown }: LogReport): Html {
  if (unknown === undefined) return html``
  const requests = {
    title: 'Requests',
    value: (row: { requests: number }) => formatNumber(row.requests),
    isNumber: true,
  }
  const count = ({ requests }: { requests: number }) => requests
  return html`<section><h2>Readers unknown</h2><p>${formatNumber(unknown.requests)} requests from ${formatNumber(unknown.addresses)} addresses are of logs without user agents, so that people and agents cannot be told apart. Have the server log them: the format combined does.</p></section><div class="halves">${table('Paths, read by unknown readers', unknown.paths.slice(0, ROWS), [PATH, requests], count)}${table('Statuses', unknown.statuses, [{ title: 'Status', value: ({ status }) => String(status) }, requests], count)}</div>`
}

function unnamedSection({ unnamed }: LogReport): Html {
  if (unnamed.length === 0) return html``
  return table(
    'Agents that the catalogue does not name',
    unnamed.slice(0, ROWS),
    [
      { title: 'User agent', value: ({ user_agent }) => html`<code>${user_agent || 'none'}</code>` },
      { title: 'Requests', value: ({ requests }) => formatNumber(requests), isNumber: true },
    ],
    ({ requests }) => requests,
  )
}

function notes(report: LogReport): Html {
  const { visitors, pageviews } = report.people.without_assets
  const facts = [
    visitors > 0 &&
      `${formatNumber(pageviews)} pageviews of ${formatNumber(visitors)} ${visitors === 1 ? 'person' : 'people'} came without a single style, script, picture or font: probably agents that do not say so.`,
    report.lines.broken > 0 && `${formatNumber(report.lines.broken)} lines could not be read.`,
    report.people.data_requests > 0 &&
      `${formatNumber(report.people.data_requests)} requests of people below paths of data, such as /api/, are not pageviews.`,
    report.lines.other_hosts > 0 &&
      `${formatNumber(report.lines.other_hosts)} requests of other hosts, or without one, are left out.`,
    !report.lists_complete && 'There are very many distinct paths: rare ones may be missing from the lists.',
  ]
  return join(facts.flatMap((fact) => (fact ? [html`<p>${fact}</p>`] : [])))
}

const WIDTH = 1000
const HALF = 90
const AXIS = 18
const MAX_LABELS = 8

/** Draws people's pageviews above and agents' requests below one time axis, each on a scale of its own. */
function drawSeries({ granularity, buckets }: LogReport['series']): Html {
  const maxPageviews = Math.max(1, ...buckets.map(({ pageviews }) => pageviews))
  const maxRequests = Math.max(1, ...buckets.map(({ requests }) => requests))
  const step = WIDTH / Math.max(1, buckets.length)
  const every = Math.max(1, Math.ceil(buckets.length / MAX_LABELS))
  const bars = buckets.map(({ t, pageviews, requests }, i) => {
    const [up, down] = [(pageviews / maxPageviews) * HALF, (requests / maxRequests) * HALF]
    const [x, width] = [(i * step).toFixed(2), Math.max(0.5, step * 0.8).toFixed(2)]
    const label = `${t}: ${formatNumber(pageviews)} pageviews, ${formatNumber(requests)} requests of agents`
    return html`<g><title>${label}</title>
<rect class="people" x="${x}" y="${(HALF - up).toFixed(2)}" width="${width}" height="${up.toFixed(2)}"/>
<rect class="agents" x="${x}" y="${String(HALF + AXIS)}" width="${width}" height="${down.toFixed(2)}"/></g>`
  })
  const labels = buckets.flatMap(({ t }, i) =>
    i % every === 0 ? [html`<text x="${(i * step).toFixed(2)}" y="${String(HALF + AXIS - 5)}">${t}</text>`] : [],
  )
  const caption = `Per ${granularity}: pageviews of people above (up to ${formatNumber(maxPageviews)}), requests of agents below (up to ${formatNumber(maxRequests)})`
  return html`<svg viewBox="0 0 ${String(WIDTH)} ${String(2 * HALF + AXIS)}" role="img" aria-label="${caption}">${join(bars)}${join(labels)}</svg><figcaption>${caption}</figcaption>`
}

/** The page's styles, with the dashboard's colours: people blue, agents orange. */
const STYLE = `
:root{color-scheme:light dark;--canvas:light-dark(#f6f5f1,#101113);--panel:light-dark(#fffefb,#17181b);
--ink:light-dark(#1c1d20,#ecebe6);--muted:light-dark(#5d6068,#a3a6ad);--rule:light-dark(#e3e1da,#2c2e33);
--people:light-dark(#1c5cab,#7fb4ff);--agents:light-dark(#a84a0b,#f2a35e);--agents-bar:light-dark(#f8e4d3,#3d2a19);--people-bar:light-dark(#dbe7f6,#1c2c45)}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1080px;padding:24px;background:var(--canvas);color:var(--ink);
font:14px/20px ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;font-variant-numeric:tabular-nums}
h1{margin:0;font-size:22px;line-height:28px;overflow-wrap:anywhere}
h2{margin:0 0 8px;font-size:15px}
small,.muted,header p,footer,figcaption{color:var(--muted);font-weight:400;font-size:13px}
header p{margin:4px 0 20px}
section,figure{margin:0 0 16px;padding:16px;background:var(--panel);border:1px solid var(--rule);border-radius:8px;overflow-x:auto}
.totals{display:grid;grid-template-columns:1fr 1fr;gap:24px}
.totals .people h2{color:var(--people)}.totals .agents h2{color:var(--agents)}
dl{display:flex;flex-wrap:wrap;gap:8px 24px;margin:0}
dl div{display:flex;flex-direction:column-reverse}
dt{color:var(--muted);font-size:13px}dd{margin:0;font-size:22px;line-height:28px;font-weight:600}
svg{display:block;width:100%;height:auto}
rect.people{fill:var(--people)}rect.agents{fill:var(--agents)}
g:hover rect{opacity:.6}text{fill:var(--muted);font-size:11px}
figcaption{margin-top:8px}
.halves{display:grid;grid-template-columns:1fr 1fr;gap:16px;align-items:start}
table{width:100%;border-collapse:collapse}
th{text-align:left;font-weight:400;color:var(--muted);font-size:13px}
th,td{padding:4px 8px;border-bottom:1px solid var(--rule);vertical-align:top}
tr:last-child td{border-bottom:0}
.number{text-align:right;white-space:nowrap}
section.agents{--bar:var(--agents-bar)}section.people{--bar:var(--people-bar)}
.bar{background:linear-gradient(90deg,var(--bar) var(--share),transparent 0);overflow-wrap:anywhere;min-width:9em}
code{font:12px/18px ui-monospace,"SF Mono",Menlo,Consolas,monospace;overflow-wrap:anywhere}
@media(max-width:720px){.totals,.halves{grid-template-columns:1fr}}
@media print{body{background:none;max-width:none}section,figure{break-inside:avoid}}
`
