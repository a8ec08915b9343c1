import type { DataOf } from '../../client/index.js'
import { countColumn } from '../../parts/columns.js'
import { ListPanel } from '../../parts/list-panel.js'
import '../../styles/sessions.css'
import { ExportMenu } from '../../charts/export-menu.js'
import { RowName } from '../../parts/names.js'
import { pageNumber } from '../../parts/paging.js'
import { Sentence } from '../../parts/panel.js'
import { PeopleOnly } from '../../parts/people-only.js'
import type { Column } from '../../parts/table.js'
import { hrefTo, place, view, viewPath } from '../../state/address.js'
import type { Result } from '../../state/data.js'
import { formatAgo, formatCountry, formatFullInstant, formatInstant, formatShare } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { useOne } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { returnsOf } from '../retention/returns.js'
import { OneVisitor } from './one-visitor.js'

const ROWS = 50

/** Every visitor, or the one that the address names: `visitors/ID`. */
export default function Visitors() {
  const id = view.value[1]
  return id === undefined ? <VisitorList /> : <OneVisitor key={id} id={id} />
}

function VisitorList() {
  const texts = t().sessions
  const isPeople = place.value.show !== 'agent'
  const answer = useOne(
    '/api/stats/visitors',
    'human',
    { compare: undefined, limit: ROWS, page: pageNumber() },
    isPeople,
  )
  return (
    <PeopleOnly title={t().shell.view.visitors} why={texts.agentsVisitors} instead={['agents']}>
      {() => (
        <>
          <VisitorsSentence list={answer} />
          <ListPanel
            title={t().shell.view.visitors}
            right={<ExportMenu report="visitors" picture={false} />}
            answer={answer}
            rows={answer.data ?? []}
            emptyText={texts.emptyVisitors}
            skeleton={12}
            rowKey={({ id }) => id}
            columns={columns()}
            limit={ROWS}
          />
        </>
      )}
    </PeopleOnly>
  )
}

/** How many people visited; and what share of the new ones came back, where that is known. */
function VisitorsSentence({ list }: { list: Result<'/api/stats/visitors'> }) {
  const texts = t().sessions
  const returns = useOne('/api/stats/retention', 'human', {
    granularity: undefined,
    align: 'ids',
    compare: undefined,
  })
  return (
    <Sentence answers={[list]} also={[returns]}>
      {() => {
        const total = list.meta?.total ?? 0
        if (total === 0) return texts.visitorsNone(whenText())
        const people = quantity('/api/stats/visitors total', total, (text) => <span class="people">{text}</span>)
        const back = returnsOf(returns.data?.cohorts ?? [])
        const unit = returns.data?.granularity
        if (back === undefined || unit === undefined) return texts.visitorsSentence(whenText(), people)
        return texts.visitorsBack(
          whenText(),
          people,
          quantity('/api/stats/retention size', back.people),
          <a href={hrefTo({ path: viewPath('retention') })}>{formatShare(back.share)}</a>,
          t().retention.after[unit],
        )
      }}
    </Sentence>
  )
}

function columns(): Column<DataOf<'/api/stats/visitors'>[number]>[] {
  const texts = t().sessions
  return [
    {
      key: 'visitor',
      head: texts.visitor,
      cell: ({ id, identified_id }) => (
        <RowName
          label={identified_id ?? texts.anonymous(id.slice(0, 6))}
          to={viewPath('visitors', id)}
          {...(identified_id === undefined ? {} : { filter: ['identified_id', identified_id] as const })}
        />
      ),
    },
    countColumn('sessions', { width: '72px' }, texts.visitsHead),
    countColumn('pageviews', { width: '72px' }, t().shell.view.pages),
    {
      key: 'first',
      head: texts.firstSeen,
      wide: true,
      right: true,
      width: '15%',
      cell: ({ first_seen }) => <span title={formatFullInstant(first_seen)}>{formatInstant(first_seen)}</span>,
    },
    {
      key: 'last',
      head: texts.lastSeen,
      right: true,
      width: '112px',
      cell: ({ last_seen }) => (
        <span class="no-wrap" title={formatFullInstant(last_seen)}>
          {formatAgo(last_seen)}
        </span>
      ),
    },
    {
      key: 'country',
      head: t().parts.country,
      wide: true,
      width: '17%',
      cell: ({ country }) =>
        country === undefined ? (
          <span class="muted">{t().parts.unknown}</span>
        ) : (
          <RowName label={formatCountry(country)} filter={['country', country]} />
        ),
    },
    {
      key: 'browser',
      head: t().devices.browser,
      wide: true,
      width: '14%',
      cell: ({ browser }) =>
        browser === undefined ? (
          <span class="muted">{t().parts.unknown}</span>
        ) : (
          <RowName label={browser} filter={['browser', browser]} />
        ),
    },
  ]
}
