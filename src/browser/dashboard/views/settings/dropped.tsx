import { countColumn } from '../../parts/columns.js'
import { Panel } from '../../parts/panel.js'
import { Table } from '../../parts/table.js'
import { useRead } from '../../state/data.js'
import { site } from '../../state/session.js'
import { t } from '../../texts/index.js'

/** Exchanges and hits of 30 days that became no row, and why. */
export function Dropped() {
  const { settings } = t()
  const texts = settings.dropped
  const id = site.value?.id ?? 0
  const answer = useRead('/api/sites/{id}/drops', id > 0 ? { days: 30 } : undefined, { params: { id } })
  const counts = new Map<string, { door: string; reason: string; count: number }>()
  for (const { door, reason, count } of answer.data ?? []) {
    const key = `${door} ${reason}`
    counts.set(key, { door, reason, count: (counts.get(key)?.count ?? 0) + count })
  }
  const rows = [...counts.values()].sort((a, b) => b.count - a.count)
  return (
    <Panel
      title={settings.sections.dropped}
      aside={texts.days}
      answers={[answer]}
      empty={rows.length === 0}
      emptyText={texts.none}
    >
      {() => (
        <Table
          label={settings.sections.dropped}
          rows={rows}
          rowKey={({ door, reason }) => `${door} ${reason}`}
          columns={[
            { key: 'reason', head: texts.reason, cell: ({ reason }) => texts.reasons[reason] ?? reason },
            {
              key: 'door',
              head: t().shell.from,
              width: '26%',
              cell: ({ door }) => (door === 'edge' ? texts.edge : texts.track),
            },
            countColumn('count', { width: '16%' }, texts.count),
          ]}
        />
      )}
    </Panel>
  )
}
