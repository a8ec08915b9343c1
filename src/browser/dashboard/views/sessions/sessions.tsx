import '../../styles/sessions.css'
import { ExportMenu } from '../../charts/export-menu.js'
import { pointsText } from '../../parts/change-text.js'
import { filteredBy } from '../../parts/filter-name.js'
import { ListPanel } from '../../parts/list-panel.js'
import { pageNumber } from '../../parts/paging.js'
import { Sentence } from '../../parts/panel.js'
import { PeopleOnly } from '../../parts/people-only.js'
import { place, view } from '../../state/address.js'
import type { Result } from '../../state/data.js'
import { formatSeconds, formatShare } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { useOne } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { OneSession } from './one-session.js'
import { sessionColumns } from './session-table.js'

const ROWS = 50

/** Every visit, or the one that the address names: `sessions/ID`. */
export default function Sessions() {
  const id = view.value[1]
  return id === undefined ? <SessionList /> : <OneSession key={id} id={id} />
}

function SessionList() {
  const texts = t().sessions
  const isPeople = place.value.show !== 'agent'
  const answer = useOne(
    '/api/stats/sessions',
    'human',
    { compare: undefined, limit: ROWS, page: pageNumber() },
    isPeople,
  )
  return (
    <PeopleOnly title={t().shell.view.sessions} why={texts.agents} instead={['agents']}>
      {() => (
        <>
          <SessionsSentence list={answer} />
          <ListPanel
            title={t().shell.view.sessions}
            right={<ExportMenu report="sessions" picture={false} />}
            answer={answer}
            emptyText={texts.empty}
            skeleton={12}
            lacking="human"
            rows={answer.data ?? []}
            rowKey={({ id }) => id}
            columns={sessionColumns()}
            limit={ROWS}
          />
        </>
      )}
    </PeopleOnly>
  )
}

/** The share of visits that left after one page, and how long the average visit took. */
function SessionsSentence({ list }: { list: Result<'/api/stats/sessions'> }) {
  const texts = t().sessions
  const totals = useOne('/api/stats/overview', 'human')
  return (
    <Sentence answers={[list]} also={[totals]}>
      {() => {
        const total = list.meta?.total ?? 0
        if (total === 0) return texts.none(whenText())
        const visits = quantity('/api/stats/sessions total', total, (text) => <span class="people">{text}</span>)
        const now = leftOf(totals.data)
        const duration = totals.data?.duration
        if (now === undefined || duration === undefined || !isOfTheseVisits(totals.meta))
          return texts.sentence(whenText(), visits)
        const change = pointsText(now, leftOf(totals.data?.comparison))
        return texts.left(whenText(), visits, formatShare(now.n / now.of), change, formatSeconds(duration))
      }}
    </Sentence>
  )
}

/** Whether the totals are of the visits in the list: another tool's are not in it, and of a page only entries bounce. */
const isOfTheseVisits = (meta: { warnings?: readonly { code: string }[] } | undefined): boolean =>
  place.value.segment === undefined &&
  !filteredBy().some((dimension) => ['pathname', 'section'].includes(dimension)) &&
  !meta?.warnings?.some(({ code }) => code === 'imported_history')

/** The visits that left after one page, of all; undefined if no visit began. */
const leftOf = ({ bounce, sessions = 0 }: { bounce?: number; sessions?: number } = {}) =>
  bounce === undefined || sessions === 0 ? undefined : { n: bounce * sessions, of: sessions }
