import type { DataOf } from '../../client/index.js'
import { Fact, Facts, Props } from '../../parts/facts.js'
import { Cut, RowName } from '../../parts/names.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { AnyText } from '../../parts/path-text.js'
import { Empty } from '../../parts/states.js'
import { hrefTo, viewPath } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { formatClock, formatCountry, formatFullInstant, formatSeconds, formatShare } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { envelope } from '../../state/question.js'
import { t } from '../../texts/index.js'
import { Device, From } from './session-table.js'

type Session = DataOf<'/api/stats/sessions/{id}'>
type Happened = Session['timeline'][number]

/** One visit: where it came from and what happened in it, in order. */
export function OneSession({ id }: { id: string }) {
  const texts = t().sessions
  const question = { ...envelope('human'), filters: undefined, segment: undefined, compare: undefined }
  const answer = useRead('/api/stats/sessions/{id}', question, { params: { id } })
  const session = answer.data
  return (
    <>
      <p class="crumb">
        <a href={hrefTo({ path: viewPath('sessions') })}>{texts.back}</a>
      </p>
      <h1 class="visually-hidden">{texts.session}</h1>
      <Sheet>
        {answer.problem?.status === 404 ? (
          <div class="cell">
            <Empty>{texts.gone}</Empty>
          </div>
        ) : (
          <>
            <Sentence answers={[answer]}>{() => session && sentence(session)}</Sentence>
            <Panel span={8} title={texts.timeline} answers={[answer]} skeleton={8}>
              {() => session && <Timeline session={session} />}
            </Panel>
            <Panel span={4} title={texts.facts} answers={[answer]}>
              {() => session && <AboutVisit session={session} />}
            </Panel>
          </>
        )}
      </Sheet>
    </>
  )
}

function sentence(session: Session): readonly unknown[] {
  const texts = t().sessions
  const { source, channel, duration, pageviews, events } = session
  const from = <b>{(source ?? (channel && t().parts.channel[channel]) ?? channel ?? texts.direct).slice(0, 80)}</b>
  return texts.sessionSentence(
    from,
    formatSeconds(duration),
    quantity('/api/stats/sessions pageviews', pageviews, (text) => <span class="people">{text}</span>),
    quantity('/api/stats/sessions events', events),
  )
}

function Timeline({ session }: { session: Session }) {
  const texts = t().sessions
  return (
    <ol class="timeline">
      {session.timeline.map((row, i) => (
        <li key={i} class={row.kind}>
          <time dateTime={row.timestamp} title={formatFullInstant(row.timestamp)}>
            {formatClock(row.timestamp)}
          </time>
          <span class="kind">{texts.kind[row.kind] ?? row.kind}</span>
          <span class="what">
            {row.name !== undefined && (
              <b>
                <Cut text={row.name} />
              </b>
            )}
            <a
              class="cut"
              dir="auto"
              href={hrefTo({ path: viewPath('pages', row.pathname) })}
              title={row.pathname.slice(0, 2_000)}
            >
              <AnyText text={row.pathname} />
            </a>
            <Measured row={row} />
            {row.props && <Props of={row.props} />}
          </span>
        </li>
      ))}
    </ol>
  )
}

function Measured({ row }: { row: Happened }) {
  const texts = t().sessions
  const words = [
    row.engaged_ms === undefined ? '' : texts.read(formatSeconds(row.engaged_ms / 1_000)),
    row.scroll === undefined ? '' : texts.scrolled(formatShare(row.scroll / 100, 0)),
  ].filter(Boolean)
  return words.length === 0 ? null : <span class="muted small">{words.join(', ')}</span>
}

function AboutVisit({ session }: { session: Session }) {
  const texts = t().sessions
  const { visitor_id, identified_id, country, started_at, device_type } = session
  const visitor = identified_id ?? texts.anonymous(visitor_id.slice(0, 6))
  return (
    <Facts>
      <Fact name={texts.visitor}>
        <RowName label={visitor} to={viewPath('visitors', visitor_id)} />
      </Fact>
      <Fact name={texts.started}>{formatFullInstant(started_at)}</Fact>
      <Fact name={texts.duration}>{formatSeconds(session.duration)}</Fact>
      <Fact name={texts.source}>
        <From row={session} />
      </Fact>
      <Fact name={t().parts.country}>{country === undefined ? t().parts.unknown : formatCountry(country)}</Fact>
      <Fact name={t().devices.typeHead}>
        <Device row={session} />
        {device_type && <span class="muted small">{t().devices.type[device_type] ?? device_type}</span>}
      </Fact>
    </Facts>
  )
}
