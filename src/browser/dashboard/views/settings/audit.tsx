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
  const keys = useRead('/api/keys', hasRole('admin') && org > 0 ? { org } : undefined)
  if (!hasRole('admin'))
    return <Panel title={settings.sections.audit}>{() => <p class="muted">{parts.needsRole('admin')}</p>}</Panel>
  const rows = answer.data ?? []
  const actorName = ({ actor, actor_kind }: (typeof rows)[number]): string => {
    if (actor_kind === 'key') return texts.key(keys.data?.find(({ prefix }) => prefix === actor)?.name.slice(0, 200))
    return actor_kind === 'user' ? actor : texts[actor_kind]
  }
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
          cell: ({ action, object, object_id = '' }) => (
            <Cut text={texts.line(texts.actions[action] ?? action, texts.objects[object] ?? object, object_id)} />
          ),
        },
        { key: 'actor', head: texts.who, cell: (row) => <Cut text={actorName(row)} /> },
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
