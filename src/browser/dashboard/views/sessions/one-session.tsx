import '../../styles/sessions.css'
import type { DataOf } from '../../client/index.js'
import { Fact, Facts, Props } from '../../parts/facts.js'
import { Mark } from '../../parts/marks.js'
import { Cut, PageLink, RowName } from '../../parts/names.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { AnyText } from '../../parts/path-text.js'
import { Empty, Warnings } from '../../parts/states.js'
import { hrefTo, viewPath } from '../../state/address.js'
import { type Result, useRead } from '../../state/data.js'
import {
  formatCountry,
  formatFullInstant,
  formatInstant,
  formatLanguage,
  formatSeconds,
  formatShare,
} from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { envelope } from '../../state/question.js'
import { t } from '../../texts/index.js'
import { From } from './session-table.js'
import { VisitBand } from './visit-band.js'
import { clockOf, longestPage, placeAmong, type Step, type VisitSteps, visitSteps } from './visit-steps.js'
import { useVisitsOfId, VisitorLine } from './visitor-line.js'

type Session = DataOf<'/api/stats/sessions/{id}'>

/** One visit: where it came from, what happened in it, and the other visits of the same visitor. */
export function OneSession({ id }: { id: string }) {
  const texts = t().sessions
  const question = { ...envelope('human'), filters: undefined, segment: undefined, compare: undefined }
  const answer = useRead('/api/stats/sessions/{id}', question, { params: { id } })
  const session = answer.data
  const visit = visitSteps(session?.timeline ?? [])
  const visits = useVisitsOfId(session?.visitor_id, session?.started_at)
  const legend = visit.engaged === undefined ? texts.bandUnmeasured : texts.bandLegend
  return (
    <>
      <p class="crumb">
        <a href={hrefTo({ path: viewPath('sessions') })}>{texts.back}</a>
        {session && ` / ${formatInstant(session.started_at)}`}
      </p>
      <h1 class="visually-hidden">{texts.session}</h1>
      <Sheet>
        {answer.problem?.status === 404 ? (
          <div class="cell">
            <Empty>{texts.gone}</Empty>
          </div>
        ) : (
          <>
            <Sentence answers={[answer]} also={[visits]}>
              {() => session && sentence(session, visit, visits)}
            </Sentence>
            <Panel
              span={8}
              title={texts.timeline}
              aside={session && visit.length > 0 ? legend : ''}
              answers={[answer]}
              skeleton={8}
            >
              {() =>
                session && (
                  <>
                    {visit.length > 0 && <VisitBand visit={visit} label={bandLabel(session, visit)} />}
                    <Steps visit={visit} />
                    <Warnings of={[answer.meta]} />
                  </>
                )
              }
            </Panel>
            <Panel span={4} title={texts.facts} answers={[answer]} skeleton={13}>
              {() => session && <AboutVisit session={session} visit={visit} />}
            </Panel>
            {session && (
              <VisitorLine
                title={nameOf(session)}
                visits={visits}
                visitor={session.visitor_id}
                at={session.started_at}
                isIdentified={session.identified_id !== undefined}
                here={session.id}
              />
            )}
          </>
        )}
      </Sheet>
    </>
  )
}

const nameOf = ({ identified_id, visitor_id }: Session): string =>
  identified_id?.slice(0, 80) ?? t().sessions.anonymous(visitor_id.slice(0, 6))

/** Actions that have a name, each once, the first of them. */
const actionsOf = ({ steps }: VisitSteps): string[] => [
  ...new Set(
    steps.flatMap(({ hit }) => (hit.kind === 'custom' && hit.name !== undefined ? [hit.name.slice(0, 60)] : [])),
  ),
]

function sentence(session: Session, visit: VisitSteps, visits: Result<'/api/stats/sessions'>): readonly unknown[] {
  const texts = t().sessions
  const { source, channel, country, duration, pageviews, events } = session
  const isDirect = source === undefined && (channel === undefined || channel === 'Direct')
  const from = (source ?? (channel && t().parts.channel[channel]) ?? channel ?? '').slice(0, 80)
  const who = texts.person(country === undefined ? undefined : formatCountry(country))
  const longest = longestPage(visit)
  const [action] = actionsOf(visit)
  const among = placeAmong(session.id, visits.data ?? [], visits.meta?.total)
  const shown = quantity('/api/stats/sessions pageviews', pageviews, (text) => (
    <span class="people">{duration > 0 ? texts.inTime(text, formatSeconds(duration)) : text}</span>
  ))
  return [
    ...(isDirect ? texts.cameDirectly(who) : texts.cameFrom(who, <b>{from}</b>)),
    ...texts.viewed(shown),
    ...(longest ? texts.longest(<PageLink path={longest.pathname} />, formatSeconds(longest.engaged / 1_000)) : []),
    ...(events === 0
      ? []
      : action === undefined
        ? texts.did(quantity('/api/stats/sessions events', events))
        : texts.didNamed(quantity('/api/stats/sessions events', events), <b>{action}</b>)),
    '.',
    ...(among ? [texts.among(among.place, among.of)] : []),
  ]
}

function bandLabel({ pageviews }: Session, { length, engaged }: VisitSteps): string {
  const views = quantity('/api/stats/sessions pageviews', pageviews)
  const use = engaged === undefined ? undefined : formatSeconds(engaged / 1_000)
  return t().sessions.bandLabel(views, formatSeconds(length / 1_000), use)
}

function Steps({ visit }: { visit: VisitSteps }) {
  const texts = t().sessions
  const most = Math.max(1, ...visit.steps.map(({ engaged = 0 }) => engaged))
  return (
    <ol class="visit-steps">
      {visit.steps.map((step, i) => {
        const { at, hit, page } = step
        return (
          <li key={i}>
            <time dateTime={hit.timestamp} title={formatFullInstant(hit.timestamp)}>
              {clockOf(at)}
            </time>
            {page === undefined ? <span class="event-mark" aria-hidden="true" /> : <Mark of="human" />}
            <span class="what">
              {page === undefined && (
                <span>
                  <span class="muted">{texts.kind[hit.kind] ?? hit.kind}</span>{' '}
                  {hit.name !== undefined && (
                    <b>
                      <Cut text={hit.name} />
                    </b>
                  )}
                </span>
              )}
              {page !== undefined && (
                <span class="row-name">
                  <span class="muted">{page}</span>
                  <a
                    class="cut"
                    dir="auto"
                    href={hrefTo({ path: viewPath('pages', hit.pathname) })}
                    title={hit.pathname.slice(0, 2_000)}
                  >
                    <AnyText text={hit.pathname} />
                  </a>
                </span>
              )}
              {hit.props && <Props of={hit.props} />}
            </span>
            {page !== undefined && <InUse step={step} most={most} />}
          </li>
        )
      })}
    </ol>
  )
}

/** How long a page was in use, as part of the page in use for longest, and how far it was scrolled. */
function InUse({ step: { engaged, scroll }, most }: { step: Step; most: number }) {
  const texts = t().sessions
  const words = [
    engaged === undefined ? '' : texts.inUse(formatSeconds(engaged / 1_000)),
    scroll === undefined ? '' : texts.scrolled(formatShare(scroll / 100, 0)),
  ].filter(Boolean)
  if (words.length === 0) return <span class="in-use muted small">{texts.notMeasured}</span>
  return (
    <span class="in-use muted small">
      <svg class="use-bar" height="7" aria-hidden="true">
        <rect width="100%" height="7" fill="var(--rule)" />
        <rect width={`${((engaged ?? 0) / most) * 100}%`} height="7" fill="var(--people)" />
      </svg>
      {words.join(', ')}
    </span>
  )
}

/** The facts of a visit; one that is not known says why. */
function AboutVisit({ session, visit }: { session: Session; visit: VisitSteps }) {
  const texts = t().sessions
  const { devices, parts } = t()
  const { visitor_id, country, started_at, device_type, screen_class, browser, os, language, utm_campaign } = session
  const why = (text: string) => <span class="muted">{text}</span>
  const small = (text: string) => <span class="muted small">{text}</span>
  const path = (of: 'entry_page' | 'exit_page') => {
    const found = session[of]
    return found === undefined ? why(texts.noPage) : <RowName label={found} filter={[of, found]} />
  }
  return (
    <Facts>
      <Fact name={texts.visitor}>
        <RowName label={nameOf(session)} to={viewPath('visitors', visitor_id)} />
      </Fact>
      <Fact name={texts.started}>{formatFullInstant(started_at)}</Fact>
      <Fact name={texts.duration}>{session.duration > 0 ? formatSeconds(session.duration) : why(texts.oneHit)}</Fact>
      <Fact name={texts.inUseHead}>
        {visit.engaged === undefined ? why(texts.needsScript) : formatSeconds(visit.engaged / 1_000)}
      </Fact>
      <Fact name={texts.source}>
        <From row={session} />
      </Fact>
      <Fact name={texts.campaign}>
        {utm_campaign === undefined ? (
          why(texts.noCampaign)
        ) : (
          <RowName label={utm_campaign} filter={['utm_campaign', utm_campaign]} />
        )}
      </Fact>
      <Fact name={texts.entry}>{path('entry_page')}</Fact>
      <Fact name={texts.exit}>{path('exit_page')}</Fact>
      <Fact name={parts.country}>
        {country === undefined ? (
          why(texts.noCountry)
        ) : (
          <RowName label={formatCountry(country)} filter={['country', country]} />
        )}
      </Fact>
      <Fact name={devices.typeHead}>
        {device_type === undefined ? why(texts.notSaid) : (devices.type[device_type] ?? device_type)}
      </Fact>
      <Fact name={devices.screen}>
        {screen_class === undefined ? why(texts.needsScript) : (devices.screenClass[screen_class] ?? screen_class)}
      </Fact>
      <Fact name={devices.browser}>
        {browser === undefined ? (
          why(texts.notSaid)
        ) : (
          <span class="row-name">
            <RowName label={browser} filter={['browser', browser]} />
            {os && small(os.slice(0, 40))}
          </span>
        )}
      </Fact>
      <Fact name={devices.language}>{language === undefined ? why(texts.notSaid) : formatLanguage(language)}</Fact>
    </Facts>
  )
}
