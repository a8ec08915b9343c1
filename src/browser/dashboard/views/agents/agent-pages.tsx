import type { DataOf } from '../../client/index.js'
import { agoColumn, countColumn, lineColumn, pageColumn, severityColumn } from '../../parts/columns.js'
import { RankedPanel } from '../../parts/list-panel.js'
import { More } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { Warnings } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import { SeverityTag } from '../../parts/tags.js'
import { hrefTo, place, viewPath } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { filtersWith } from '../../state/filters.js'
import { formatNumber } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { envelope, mixedEnvelope, useOne } from '../../state/question.js'
import { t } from '../../texts/index.js'

const only = (id: string) => ({ dimension: 'agent_id', op: 'is', value: id })

/** The URLs that one agent fetched most. */
export function WhatItRead({ id }: { id: string }) {
  const texts = t().agents
  const answer = useOne('/api/agents/breakdown', 'agent', {
    filters: filtersWith(only(id)),
    dimension: 'pathname',
    limit: 10,
  })
  const rows = answer.data ?? []
  const total = answer.meta?.total ?? rows.length
  return (
    <RankedPanel
      span={6}
      title={texts.whatItRead}
      aside={t().parts.metric.fetches}
      right={
        <a class="more" href={hrefTo({ path: viewPath('coverage'), filters: [...place.value.filters, only(id)] })}>
          {texts.allPages(quantity('/api/agents/coverage total', total))}
        </a>
      }
      answer={answer}
      of="agent"
      metric="fetches"
      rows={rows.map(({ value, fetches, comparison }) => ({
        label: `${value}`,
        value: fetches,
        before: comparison?.fetches,
        filter: ['pathname', `${value}`],
        to: viewPath('pages', `${value}`),
      }))}
    />
  )
}

interface IgnoredProps {
  id: string
  operator: string | undefined
  spoofed: number
}

/** The URLs that one agent fetched although robots.txt forbade it, with the line that decided. Long because its columns are a table. */
export function WhatItIgnored({ id, operator, spoofed }: IgnoredProps) {
  const texts = t().agents
  const answer = useOne('/api/policy/violations', 'agent', {
    filters: filtersWith(only(id)),
    compare: undefined,
    limit: 10,
  })
  const rows = foldRows(answer.data ?? [])
  const severities = [...new Set(rows.map(({ severity }) => severity))]
  return (
    <Panel
      span={6}
      title={texts.whatItIgnored}
      aside={texts.atTheTime}
      right={
        (answer.meta?.total ?? 0) > (answer.data?.length ?? 0) && (
          <a
            class="more"
            href={hrefTo({
              path: viewPath('violations'),
              own: { by: 'all' },
              filters: [...place.value.filters, only(id)],
            })}
          >
            {texts.all}
          </a>
        )
      }
      answers={[answer]}
      empty={rows.length === 0}
      emptyText={texts.ignoredNone}
    >
      {() => (
        <>
          <Table
            label={texts.whatItIgnored}
            rows={rows}
            rowKey={({ severity, hostname, pathname, line }) => `${severity} ${hostname}${pathname} ${line}`}
            columns={[
              pageColumn(texts.path),
              lineColumn({ width: '30%' }),
              ...(severities.length > 1 ? [severityColumn({ wide: true, width: '20%' })] : []),
              countColumn('fetches', { width: '10%' }),
              agoColumn('last_seen', texts.last, { width: '22%', wide: true }),
            ]}
          />
          {severities.map((severity) => (
            <p class="foot" key={severity}>
              <SeverityTag of={severity} /> {texts.severityOf(severity, operator ?? texts.itsOperator)}
            </p>
          ))}
          {spoofed > 0 && <p class="foot">{texts.spoofedLeftOut(spoofed)}</p>}
        </>
      )}
    </Panel>
  )
}

type Ignored = DataOf<'/api/policy/violations'>[number]

/** Joins rows that differ in the verification alone: their class says what that means. */
function foldRows(rows: readonly Ignored[]): Ignored[] {
  const folded = new Map<string, Ignored>()
  for (const row of rows) {
    const key = JSON.stringify([row.severity, row.hostname, row.pathname, row.line])
    const same = folded.get(key)
    const last_seen = same && same.last_seen > row.last_seen ? same.last_seen : row.last_seen
    folded.set(key, same ? { ...same, fetches: same.fetches + row.fetches, last_seen } : row)
  }
  return [...folded.values()]
}

/** The visits that came from assistants of one operator, by the page where they began. */
export function AiVisits({ operator }: { operator: string }) {
  const texts = t().agents
  const ask = { ...mixedEnvelope(), operator }
  const total = useRead('/api/citation-gap/summary', ask)
  const answer = useRead('/api/citation-gap', { ...ask, compare: envelope('agent').compare, limit: 200 })
  const rows = (answer.data ?? []).filter(({ arrivals }) => arrivals > 0).sort((a, b) => b.arrivals - a.arrivals)
  const arrivals = total.data?.arrivals ?? 0
  const reads = total.data?.fetches ?? 0
  return (
    <RankedPanel
      title={texts.aiVisits(operator)}
      aside={total.data && quantity('/api/citation-gap arrivals', arrivals).text}
      right={<More to="citation-gap">{t().shell.view['citation-gap']}</More>}
      answer={answer}
      emptyText={texts.aiVisitsNone(operator)}
      foot={
        arrivals > 0 &&
        reads > 0 &&
        texts.readsPerVisit(operator, quantity('/api/citation-gap fetches', reads), formatNumber(reads / arrivals, 1))
      }
      of="human"
      metric="sessions"
      rows={rows.slice(0, 8).map(({ hostname, pathname, arrivals: n, comparison }) => ({
        key: hostname + pathname,
        label: pathname,
        value: n,
        before: comparison?.arrivals,
        filter: ['pathname', pathname],
        to: viewPath('pages', pathname),
      }))}
      below={<Warnings of={[answer.meta]} />}
    />
  )
}
