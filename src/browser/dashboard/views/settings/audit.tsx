import { textColumn } from '../../parts/columns.js'
import { ListPanel } from '../../parts/list-panel.js'
import { Cut } from '../../parts/names.js'
import { pageNumber } from '../../parts/paging.js'
import { Panel } from '../../parts/panel.js'
import { useRead } from '../../state/data.js'
import { formatInstant } from '../../state/format.js'
import { hasRole, site } from '../../state/session.js'
import { t } from '../../texts/index.js'

const LIMIT = 50

/** The audit log of the organisation, newest first. */
export function Audit() {
  const { settings, parts } = t()
  const texts = settings.audit
  const org = site.value?.org ?? 0
  const answer = useRead(
    '/api/orgs/{id}/audit',
    hasRole('admin') && org > 0 ? { limit: LIMIT, page: pageNumber() } : undefined,
    {
      params: { id: org },
    },
  )
  if (!hasRole('admin'))
    return <Panel title={settings.sections.audit}>{() => <p class="muted">{parts.needsRole('admin')}</p>}</Panel>
  const rows = answer.data ?? []
  return (
    <ListPanel
      title={settings.sections.audit}
      answer={answer}
      rows={rows}
      rowKey={({ id }) => `${id}`}
      columns={[
        {
          key: 'what',
          head: texts.what,
          cell: ({ action, object, object_id }) => <Cut text={`${action} ${object} ${object_id ?? ''}`} />,
        },
        textColumn('actor', texts.who),
        {
          key: 'ip',
          head: t().shell.from,
          wide: true,
          width: '18%',
          cell: ({ ip }) => <span class="mono">{ip ?? ''}</span>,
        },
        { key: 'at', head: t().parts.note.at, width: '20%', cell: ({ at }) => formatInstant(at) },
      ]}
      limit={LIMIT}
    />
  )
}
