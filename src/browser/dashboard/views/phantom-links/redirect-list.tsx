import type { ComponentChildren } from 'preact'
import type { DataOf } from '../../client/index.js'
import { Cut } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { Table } from '../../parts/table.js'
import type { Result } from '../../state/data.js'
import { formatDay, formatNumber } from '../../state/format.js'
import { hasRole } from '../../state/session.js'
import { t } from '../../texts/index.js'

type Redirect = DataOf<'/api/redirects'>[number]

interface RedirectListProps {
  redirects: Result<'/api/redirects'>
  right: ComponentChildren
  onRemove(redirect: Redirect): void
}

/** The redirects of the site, in the order in which they were made. */
export function RedirectList({ redirects, right, onRemove }: RedirectListProps) {
  const texts = t().phantom
  const rows = redirects.data ?? []
  return (
    <Panel
      title={texts.redirectsTitle}
      aside={formatNumber(rows.length)}
      right={right}
      answers={[redirects]}
      empty={rows.length === 0}
      emptyText={texts.noRedirects}
      skeleton={3}
      class="roomy"
      foot={hasRole('admin') ? undefined : t().parts.needsRole('admin')}
    >
      {() => (
        <Table
          label={texts.redirectsTitle}
          rows={rows}
          rowKey={({ id }) => String(id)}
          columns={[
            { key: 'from', head: texts.from, cell: ({ from }) => <Cut text={from} /> },
            { key: 'to', head: texts.to, width: '30%', cell: ({ to }) => <Cut text={to} /> },
            { key: 'status', head: texts.status, right: true, wide: true, width: '72px', cell: ({ status }) => status },
            {
              ...{ key: 'since', head: texts.onSince, right: true, wide: true, width: '96px' },
              cell: ({ created_at }) => formatDay(created_at),
            },
            {
              ...{ key: 'act', right: true, width: '104px' },
              head: <span class="visually-hidden">{t().shell.act}</span>,
              cell: (row) =>
                hasRole('admin') && (
                  <button
                    type="button"
                    class="button plain"
                    aria-label={`${texts.remove} ${row.from.slice(0, 100)}`}
                    onClick={() => onRemove(row)}
                  >
                    {texts.remove}
                  </button>
                ),
            },
          ]}
        />
      )}
    </Panel>
  )
}
