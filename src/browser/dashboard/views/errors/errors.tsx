import { ExportMenu } from '../../charts/export-menu.js'
import { Sparkline } from '../../charts/sparkline.js'
import type { DataOf } from '../../client/index.js'
import { changingColumns, countColumn, pageColumn, textColumn } from '../../parts/columns.js'
import { Fact, Facts } from '../../parts/facts.js'
import { ListPanel } from '../../parts/list-panel.js'
import { Cut, PageName, RowName } from '../../parts/names.js'
import { Headline } from '../../parts/numbers.js'
import { pageNumber } from '../../parts/paging.js'
import { Panel, Sentence } from '../../parts/panel.js'
import { PeopleOnly } from '../../parts/people-only.js'
import { hrefTo, place, view, viewPath } from '../../state/address.js'
import { formatAgo, formatFullInstant } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { useOne } from '../../state/question.js'
import { whenText, windowName } from '../../state/window.js'
import { t } from '../../texts/index.js'
import '../../styles/behaviour.css'

const LIMIT = 50
/** The most that one answer has; the detail of an error looks among them. */
const MAX_ROWS = 1_000
type Row = DataOf<'/api/stats/errors'>[number]

/** The script errors that people met, grouped; or one of them. */
export default function Errors() {
  const { shell, behaviour } = t()
  const [, fingerprint] = view.value
  return (
    <PeopleOnly
      title={fingerprint === undefined ? shell.view.errors : undefined}
      why={behaviour.errors.agents}
      instead={['agents', 'coverage']}
      agentsBy="status"
    >
      {() => (fingerprint === undefined ? <AllErrors /> : <OneError fingerprint={fingerprint} />)}
    </PeopleOnly>
  )
}

/** The list of errors, most frequent first. Long because each column has its cell. */
function AllErrors() {
  const texts = t().behaviour.errors
  const answer = useOne('/api/stats/errors', 'human', { limit: LIMIT, page: pageNumber() })
  const rows = answer.data ?? []
  return (
    <>
      <Sentence answers={[answer]}>
        {() => {
          const first = rows[0]
          const link = first && (
            <a href={hrefTo({ path: viewPath('errors', first.fingerprint) })}>{first.message.slice(0, 80)}</a>
          )
          const total = answer.meta?.total ?? rows.length
          return texts.sentence(
            whenText(),
            quantity('/api/stats/errors total', total),
            link,
            quantity('/api/stats/errors visitors', first?.visitors ?? 0),
          )
        }}
      </Sentence>
      <ListPanel
        title={t().shell.view.errors}
        answer={answer}
        emptyText={place.value.filters.length > 0 ? undefined : texts.empty}
        right={<ExportMenu report="errors" only="human" picture={false} />}
        lacking="human"
        rows={rows}
        rowKey={({ fingerprint }) => fingerprint}
        columns={[
          {
            key: 'message',
            head: texts.message,
            cell: ({ fingerprint, message }) => (
              <RowName label={message || texts.noMessage} to={viewPath('errors', fingerprint)} />
            ),
          },
          textColumn('type', texts.type, { width: '10%', wide: true }),
          pageColumn(t().overview.page, { width: '18%', wide: true }),
          {
            key: 'trend',
            head: texts.trend,
            width: '14%',
            wide: true,
            cell: (row) => <Trend row={row} />,
          },
          ...changingColumns('count', { width: '8%', changeWidth: '8%' }, t().behaviour.errors.figures.count),
          countColumn('visitors', { width: '8%', wide: true }, t().shell.show.human),
          {
            key: 'last',
            head: t().sessions.lastSeen,
            right: true,
            width: '12%',
            cell: ({ last_seen }) => (
              <time class="muted" dateTime={last_seen} title={formatFullInstant(last_seen)}>
                {formatAgo(last_seen)}
              </time>
            ),
          },
        ]}
        limit={LIMIT}
      />
    </>
  )
}

const Trend = ({ row, height }: { row: Row; height?: number }) => (
  <Sparkline
    values={row.sparkline}
    label={t().behaviour.errors.trendOf(row.count, windowName())}
    {...(height === undefined ? {} : { height })}
  />
)

/** One error in full: message, place, trend. Its text is the page's own, so it is shown as text only. */
function OneError({ fingerprint }: { fingerprint: string }) {
  const { shell, behaviour } = t()
  const texts = behaviour.errors
  const answer = useOne('/api/stats/errors', 'human', { limit: MAX_ROWS })
  const row = answer.data?.find((each) => each.fingerprint === fingerprint)
  return (
    <>
      <div class="cell">
        <p class="crumb">
          <a href={hrefTo({ path: viewPath('errors') })}>{shell.view.errors}</a>
        </p>
        <h1 class="title" dir="auto">
          {(row?.message || texts.noMessage).slice(0, 1_000)}
        </h1>
      </div>
      <Panel title={texts.detail} hideTitle answers={[answer]} empty={row === undefined} emptyText={texts.gone}>
        {() =>
          row && (
            <>
              <div class="numbers">
                {(['count', 'visitors', 'sessions'] as const).map((metric, i) => (
                  <Headline
                    key={metric}
                    of="human"
                    metric={metric}
                    label={texts.figures[metric]}
                    big={i === 0}
                    value={row[metric]}
                    before={row.comparison?.[metric]}
                  />
                ))}
              </div>
              <div class="error-trend">
                <Trend row={row} height={72} />
              </div>
              <Facts>
                <Fact name={texts.type}>
                  <Cut text={row.type} />
                </Fact>
                <Fact name={texts.frame}>
                  <span class="mono">{row.frame === undefined ? texts.noFrame : <Cut text={row.frame} />}</span>
                </Fact>
                <Fact name={texts.mostOn}>
                  <PageName path={row.pathname} />
                </Fact>
                <Fact name={t().sessions.firstSeen}>{formatFullInstant(row.first_seen)}</Fact>
                <Fact name={t().sessions.lastSeen}>{formatFullInstant(row.last_seen)}</Fact>
              </Facts>
            </>
          )
        }
      </Panel>
    </>
  )
}
