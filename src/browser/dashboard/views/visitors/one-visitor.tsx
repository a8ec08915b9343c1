import { useState } from 'preact/hooks'
import { PlainButton } from '../../parts/buttons.js'
import { Confirm, toast } from '../../parts/dialogs.js'
import { Fact, Facts, Props } from '../../parts/facts.js'
import { Paging, pageNumber } from '../../parts/paging.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { Empty } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import { go, hrefTo, siteId, viewPath } from '../../state/address.js'
import { client, send } from '../../state/client.js'
import { forget, type Result, useRead } from '../../state/data.js'
import { formatCountry, formatFullInstant } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { envelope, shareSlug } from '../../state/question.js'
import { hasRole } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { sessionColumns } from '../sessions/session-table.js'
import { recognisedText, useVisitsOfId, VisitorLine } from '../sessions/visitor-line.js'

const ROWS = 25
/** The columns of their visits; what all of them share stands beside the table. */
const SHOWN: readonly string[] = ['started', 'entry', 'source', 'pageviews', 'duration']

/** One visitor: what is known, their visits, and erasure. */
export function OneVisitor({ id }: { id: string }) {
  const texts = t().sessions
  const question = { ...envelope('human'), segment: undefined, compare: undefined }
  const isThem = { dimension: 'visitor_id', op: 'is', value: id }
  const answer = useRead('/api/stats/visitors', { ...question, filters: JSON.stringify([isThem]), limit: 1 })
  const visitor = answer.data?.[0]
  // Visits on other devices that the site has linked belong to the same person.
  const person = visitor?.identified_id
  const filters =
    person === undefined ? [isThem] : [{ or: [isThem, { dimension: 'identified_id', op: 'is', value: person }] }]
  const visits = useRead(
    '/api/stats/sessions',
    answer.data && { ...question, filters: JSON.stringify(filters), limit: ROWS, page: pageNumber() },
  )
  const ofId = useVisitsOfId(visitor?.id, visitor?.last_seen)
  const [erasing, setErasing] = useState(false)
  const name = person ?? texts.anonymous(id.slice(0, 6))
  return (
    <>
      <p class="crumb">
        <a href={hrefTo({ path: viewPath('visitors') })}>{texts.backVisitors}</a>
      </p>
      <div class="title-line">
        <h1 class="title" dir="auto">
          {name.slice(0, 200)}
        </h1>
      </div>
      <Sheet>
        {answer.data && !visitor ? (
          <div class="cell">
            <Empty>{texts.goneVisitor}</Empty>
          </div>
        ) : (
          <>
            <Sentence answers={[answer]}>
              {() =>
                visitor &&
                texts.visitorSentence(
                  <span class="people">{name.slice(0, 80)}</span>,
                  quantity('/api/stats/visitors sessions', visitor.sessions),
                  quantity('/api/stats/visitors pageviews', visitor.pageviews),
                  formatFullInstant(visitor.first_seen),
                )
              }
            </Sentence>
            {visitor && (
              <VisitorLine
                title={texts.visitsOfId}
                visits={ofId}
                visitor={id}
                at={visitor.last_seen}
                isIdentified={person !== undefined}
              />
            )}
            <Panel span={8} title={texts.theirVisits} answers={[visits]} empty={visits.data?.length === 0}>
              {() => (
                <>
                  <Table
                    label={texts.theirVisits}
                    rows={visits.data ?? []}
                    rowKey={(visit) => visit.id}
                    columns={sessionColumns().filter(({ key }) => SHOWN.includes(key))}
                  />
                  <Paging total={visits.meta?.total} limit={ROWS} />
                </>
              )}
            </Panel>
            <AboutVisitor found={answer} onErase={() => setErasing(true)} />
          </>
        )}
      </Sheet>
      {erasing && <Erase id={id} onClose={() => setErasing(false)} />}
    </>
  )
}

interface FactsProps {
  found: Result<'/api/stats/visitors'>
  onErase: () => void
}

function AboutVisitor({ found, onErase }: FactsProps) {
  const texts = t().sessions
  const { unknown } = t().parts
  const visitor = found.data?.[0]
  return (
    <Panel span={4} title={texts.factsVisitor} answers={[found]}>
      {() =>
        visitor && (
          <>
            <Facts>
              <Fact name={texts.firstSeen}>{formatFullInstant(visitor.first_seen)}</Fact>
              <Fact name={texts.lastSeen}>{formatFullInstant(visitor.last_seen)}</Fact>
              <Fact name={texts.recognisedHead}>
                {recognisedText(visitor.last_seen, visitor.identified_id !== undefined) ?? unknown}
              </Fact>
              <Fact name={t().parts.country}>
                {visitor.country === undefined ? (
                  <span class="muted">{texts.noCountry}</span>
                ) : (
                  formatCountry(visitor.country)
                )}
              </Fact>
              <Fact name={t().devices.browser}>
                {visitor.browser?.slice(0, 80) ?? <span class="muted">{texts.notSaid}</span>}
              </Fact>
            </Facts>
            <h3>{texts.traits}</h3>
            {visitor.traits ? <Props of={visitor.traits} /> : <p class="muted small">{texts.noTraits}</p>}
            {hasRole('admin') ? (
              <div class="buttons">
                <PlainButton onClick={onErase}>{texts.erase}</PlainButton>
              </div>
            ) : (
              shareSlug.value === undefined && <p class="foot">{texts.eraseNeeds}</p>
            )}
          </>
        )
      }
    </Panel>
  )
}

function Erase({ id, onClose }: { id: string; onClose: () => void }) {
  const texts = t().sessions
  const erase = async () => {
    const query = { site: siteId.value ?? 0 }
    const { data } = await send(client.DELETE('/api/visitors/{id}', { params: { path: { id }, query } }))
    forget('/api/stats/')
    toast(texts.eraseDone(data.rows))
    go({ path: viewPath('visitors') })
  }
  return (
    <Confirm title={texts.eraseTitle} text={texts.eraseText} action={texts.erase} submit={erase} onClose={onClose} />
  )
}
