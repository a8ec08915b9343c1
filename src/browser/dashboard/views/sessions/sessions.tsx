import '../../styles/sessions.css'
import { ExportMenu } from '../../charts/export-menu.js'
import { Paging, pageNumber } from '../../parts/paging.js'
import { Panel, Sentence } from '../../parts/panel.js'
import { PeopleOnly } from '../../parts/people-only.js'
import { Lacking, Warnings } from '../../parts/states.js'
import { place, view } from '../../state/address.js'
import { formatNumber } from '../../state/format.js'
import { useOne } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { OneSession } from './one-session.js'
import { SessionTable } from './session-table.js'

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
    <PeopleOnly title={texts.title} why={texts.agents} instead={['agents']}>
      {() => (
        <>
          <Sentence answers={[answer]}>
            {() =>
              total === 0
                ? texts.none(whenText())
                : texts.sentence(whenText(), <span class="people">{texts.visits(total, formatNumber(total))}</span>)
            }
          </Sentence>
          <Panel
            title={texts.title}
            right={<ExportMenu report="sessions" picture={false} />}
            answers={[answer]}
            empty={answer.data?.length === 0}
            emptyText={texts.empty}
            rows={12}
          >
            {() => (
              <>
                <Lacking of="human" />
                <SessionTable rows={answer.data ?? []} label={texts.title} />
                <Paging total={total} limit={ROWS} />
                <Warnings of={[answer.meta]} />
              </>
            )}
          </Panel>
        </>
      )}
    </PeopleOnly>
  )
}
