import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { BothSides } from '../../parts/both-sides.js'
import { Choices } from '../../parts/buttons.js'
import { changeColumn, column, countText } from '../../parts/columns.js'
import { ListPanel } from '../../parts/list-panel.js'
import { Mark, MarkKey } from '../../parts/marks.js'
import { Cut, PageName } from '../../parts/names.js'
import { pageNumber } from '../../parts/paging.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { type Column, Table } from '../../parts/table.js'
import { go, place } from '../../state/address.js'
import { type Result, useRead } from '../../state/data.js'
import { formatNumber, formatSeconds } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { envelope, mixedEnvelope } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { later } from '../../texts/later.js'
import { DelayChart } from './delay-chart.js'

const LIMIT = 50
/** Minutes within which a reader follows a fetch; the second is the default of the API. */
const MINUTES = ['5', '10', '30', '60'] as const

type Row = DataOf<'/api/answers'>[number]
type Summary = Result<'/api/answers/summary'>

/** Assistants' live fetches beside the readers who came from the same operator soon after. */
export default function Answers() {
  const texts = later().answers
  const { operator, minutes: asked } = place.value.own
  const chosen = MINUTES.find((each) => each === asked) ?? '10'
  const minutes = Number(chosen)
  const ask = { ...mixedEnvelope(), minutes, operator: operator || undefined }
  const summary = useRead('/api/answers/summary', ask)
  const operators = useRead('/api/answers', { ...mixedEnvelope(), minutes, by: 'operator' })
  const pages = useRead('/api/answers', {
    ...ask,
    compare: envelope('agent').compare,
    limit: LIMIT,
    page: pageNumber(),
  })
  const { data: rows = [], meta } = pages
  return (
    <Sheet title={t().shell.view.answers}>
      <Sentence answers={[summary]} also={[pages]}>
        {() => sentence(summary, minutes)}
      </Sentence>
      <ListPanel
        title={texts.byPage}
        aside={meta?.total !== undefined && quantity('/api/answers total', meta.total).text}
        right={
          <>
            <MinutesChoice now={chosen} />
            <ExportMenu
              report="answers"
              only="agent"
              picture={false}
              more={{ minutes: chosen, ...(operator ? { operator } : {}) }}
            />
          </>
        }
        answer={pages}
        emptyText={texts.none}
        skeleton={10}
        rows={rows}
        rowKey={({ hostname, pathname }) => `${hostname}${pathname}`}
        columns={pageColumns(rows)}
        limit={LIMIT}
        below={
          <div class="narrow">
            <p class="legend foot">
              <MarkKey words={{ human: texts.samePage, agent: texts.fetched }} />
            </p>
          </div>
        }
      />
      <DelayChart summary={summary} minutes={minutes} operator={operator} />
      <Panel
        span={5}
        title={texts.byOperator}
        answers={[operators]}
        empty={operators.data?.length === 0}
        emptyText={texts.none}
        skeleton={8}
      >
        {() => (
          <>
            <Table
              label={texts.byOperator}
              rows={operators.data ?? []}
              rowKey={({ operator = '' }) => operator}
              columns={operatorColumns()}
            />
            <p class="foot">
              <b>{texts.carefulTitle}</b>
            </p>
            <p class="foot">{texts.careful(texts.minutes(chosen))}</p>
          </>
        )}
      </Panel>
    </Sheet>
  )
}

/** Chooses the minutes within which a reader follows. */
function MinutesChoice({ now }: { now: (typeof MINUTES)[number] }) {
  const { own } = place.value
  const choose = (minutes: string) => go({ own: { ...own, minutes: minutes === '10' ? '' : minutes, page: '' } }, true)
  return <Choices values={MINUTES} now={now} nameOf={later().answers.minutes} onChoose={choose} />
}

function sentence({ data }: Summary, minutes: number): readonly unknown[] {
  const texts = later().answers
  const { fetches = 0, followed = 0, followed_same_page = 0, delay } = data ?? {}
  const { chance_followed, chance_followed_same_page = 0 } = data ?? {}
  if (fetches === 0) return [texts.none]
  const drawn = (of: 'people' | 'agents') => (text: string) => <span class={of}>{text}</span>
  return [
    ...texts.sentence(whenText(), quantity('/api/answers/summary fetches', fetches, drawn('agents'))),
    ...(followed === 0
      ? []
      : texts.followed(
          quantity('/api/answers/summary followed_same_page', followed_same_page, drawn('people')),
          quantity('/api/answers/summary followed', followed - followed_same_page, drawn('people')),
          minutes,
          delay === undefined ? undefined : formatSeconds(delay),
        )),
    ...(followed === 0 || chance_followed === undefined
      ? []
      : texts.byChance(
          quantity('/api/answers/summary chance_followed_same_page', chance_followed_same_page),
          quantity('/api/answers/summary chance_followed', chance_followed - chance_followed_same_page),
        )),
    ...texts.notFollowed(quantity('/api/answers/summary fetches', fetches - followed)),
  ]
}

/** The time between, or each of few times, which have no median. */
function Between({ of: { delay, delays } }: { of: Row }) {
  const texts = later().answers
  if (delay !== undefined) return formatSeconds(delay)
  return (
    <span class="muted small reason">
      {delays === undefined ? texts.noReader : texts.few(delays.map((each) => formatNumber(each)).join(', '))}
    </span>
  )
}

/** The fetches that readers followed at another page alone. */
const otherOf = ({ followed = 0, followed_same_page = 0 }: Row): string => formatNumber(followed - followed_same_page)

function pageColumns(rows: readonly Row[]): Column<Row>[] {
  const texts = later().answers
  const most = {
    people: Math.max(...rows.map(({ followed_same_page = 0 }) => followed_same_page)),
    agents: Math.max(...rows.map(({ fetches = 0 }) => fetches)),
  }
  return [
    column(t().overview.page, {}, ({ pathname = '' }) => <PageName path={pathname} />),
    {
      ...{ key: 'both', width: '30%', phone: 'below' },
      head: texts.axis(<Mark of="human" />, <Mark of="agent" />),
      cell: ({ followed_same_page = 0, fetches = 0 }) => (
        <BothSides
          people={followed_same_page}
          agents={fetches}
          most={most}
          label={texts.both(formatNumber(followed_same_page), formatNumber(fetches))}
          format={formatNumber}
        />
      ),
    },
    column(texts.otherPage, { right: true, width: '96px' }, otherOf),
    column(texts.delay, { right: true, width: '150px' }, (row) => <Between of={row} />),
    column(texts.goals, { right: true, width: '64px' }, ({ goals }) => goals !== undefined && formatNumber(goals)),
    ...countedColumns(rows),
    changeColumn<Row>('fetches', { width: '108px' }),
  ]
}

/**
 * Columns of what search engines counted, where it was imported; a page that is not in the file has no number. On phones all
 * numbers have their names.
 */
function countedColumns(rows: readonly Row[]): Column<Row>[] {
  const texts = later().answers
  const cited = rows.some((row) => row.cited !== undefined)
  const clicked = rows.some((row) => row.search_clicks !== undefined)
  const absent = <span class="muted small reason">{texts.notInFile}</span>
  const clicks = ({ search_clicks: n, search_impressions: shown = 0 }: Row) =>
    n !== undefined && texts.ofAll(formatNumber(n), formatNumber(shown))
  return [
    ...(cited
      ? [
          column<Row>(texts.cited, { right: true, width: '92px' }, (row) =>
            row.cited === undefined ? absent : <span class="muted">{formatNumber(row.cited)}</span>,
          ),
        ]
      : []),
    ...(clicked
      ? [
          column<Row>(texts.clicked, { right: true, width: '112px' }, (row) => (
            <span class="muted">{clicks(row) || absent}</span>
          )),
        ]
      : []),
    {
      ...{ key: 'named', head: texts.named, phone: 'third', phoneOnly: true },
      cell: (row) => (
        <span class="muted small">
          {[
            `${texts.otherPage}: ${otherOf(row)}`,
            row.delay !== undefined && `${texts.delay}: ${formatSeconds(row.delay)}`,
            row.goals !== undefined && `${texts.goals}: ${formatNumber(row.goals)}`,
            row.cited !== undefined && `${texts.cited}: ${formatNumber(row.cited)}`,
            row.search_clicks !== undefined && `${texts.clicked}: ${clicks(row)}`,
          ]
            .filter(Boolean)
            .join(' · ')}
        </span>
      ),
    },
  ]
}

/** The operators; a click keeps one. */
function operatorColumns(): Column<Row>[] {
  const texts = later().answers
  const { own } = place.value
  return [
    column(t().overview.operator, {}, ({ operator = '' }) => (
      <button
        type="button"
        class="cut"
        aria-pressed={own.operator === operator}
        aria-label={t().parts.filterBy(operator)}
        onClick={() => go({ own: { ...own, operator: own.operator === operator ? '' : operator, page: '' } })}
      >
        <Cut text={operator} />
      </button>
    )),
    column(texts.samePage, { right: true, width: '88px' }, ({ followed_same_page, fetches }) =>
      texts.ofAll(countText(followed_same_page), countText(fetches)),
    ),
    column(texts.otherPage, { right: true, width: '68px' }, otherOf),
    column(texts.delay, { right: true, width: '88px', wide: true }, (row) => <Between of={row} />),
    column(texts.unseen, { right: true, width: '72px' }, ({ fetches = 0, followed = 0 }) =>
      formatNumber(fetches - followed),
    ),
  ]
}
