import '../../styles/sessions.css'
import { ExportMenu } from '../../charts/export-menu.js'
import { ListPanel } from '../../parts/list-panel.js'
import { pageNumber } from '../../parts/paging.js'
import { Sentence } from '../../parts/panel.js'
import { PeopleOnly } from '../../parts/people-only.js'
import { place, view } from '../../state/address.js'
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
  const total = answer.meta?.total ?? 0
  return (
    <PeopleOnly title={t().shell.view.sessions} why={texts.agents} instead={['agents']}>
      {() => (
        <>
          <Sentence answers={[answer]}>
            {() =>
              total === 0
                ? texts.none(whenText())
                : texts.sentence(
                    whenText(),
                    quantity('/api/stats/sessions total', total, (text) => <span class="people">{text}</span>),
                  )
            }
          </Sentence>
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
