import type { DataOf } from '../../client/index.js'
import { countColumn } from '../../parts/columns.js'
import { RowName } from '../../parts/names.js'
import type { Column } from '../../parts/table.js'
import { hrefTo, viewPath } from '../../state/address.js'
import { formatCountry, formatFullInstant, formatInstant, formatSeconds } from '../../state/format.js'
import { t } from '../../texts/index.js'

type Session = DataOf<'/api/stats/sessions'>[number]

/** The columns of sessions; the time opens what happened in one. */
export function sessionColumns(): Column<Session>[] {
  const texts = t().sessions
  return [
    {
      key: 'started',
      head: texts.started,
      width: '116px',
      cell: ({ id, started_at }) => (
        <a
          class="cut"
          href={hrefTo({ path: viewPath('sessions', id) })}
          title={formatFullInstant(started_at)}
          aria-label={t().parts.open(formatInstant(started_at))}
        >
          {formatInstant(started_at)}
        </a>
      ),
    },
    { key: 'entry', head: texts.entry, cell: ({ entry_page }) => <Path of="entry_page" path={entry_page} /> },
    {
      key: 'exit',
      head: texts.exit,
      wide: true,
      cell: ({ exit_page }) => <Path of="exit_page" path={exit_page} />,
    },
    countColumn('pageviews', { width: '64px' }, t().shell.view.pages),
    countColumn('events', { width: '72px', wide: true, rare: true }, t().parts.metric.events),
    {
      key: 'duration',
      head: texts.duration,
      right: true,
      width: '84px',
      cell: ({ duration }) => <span class="no-wrap">{formatSeconds(duration)}</span>,
    },
    { key: 'source', head: texts.source, wide: true, width: '12%', cell: (row) => <From row={row} /> },
    {
      key: 'country',
      head: t().parts.country,
      wide: true,
      rare: true,
      width: '10%',
      cell: ({ country }) =>
        country === undefined ? (
          <span class="muted">{t().parts.unknown}</span>
        ) : (
          <RowName label={formatCountry(country)} filter={['country', country]} />
        ),
    },
    { key: 'device', head: t().devices.typeHead, wide: true, width: '12%', cell: (row) => <Device row={row} /> },
  ]
}

const Path = ({ of, path }: { of: 'entry_page' | 'exit_page'; path: string | undefined }) =>
  path === undefined ? <span class="muted">–</span> : <RowName label={path} filter={[of, path]} />

/** The source, or the channel of visits without one. */
export const From = ({ row }: { row: Session }) => {
  const { channel, source } = row
  if (source !== undefined) return <RowName label={source} filter={['source', source]} />
  if (channel === undefined) return <span class="muted">–</span>
  return <RowName label={t().parts.channel[channel] ?? channel} filter={['channel', channel]} />
}

const Device = ({ row }: { row: Session }) => {
  const { browser, os } = row
  if (browser === undefined) return <span class="muted">{os ?? t().parts.unknown}</span>
  return (
    <span class="row-name">
      <RowName label={browser} filter={['browser', browser]} />
      {os && <span class="muted small no-wrap rare">{os.slice(0, 40)}</span>}
    </span>
  )
}
