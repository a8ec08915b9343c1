import type { ComponentChildren } from 'preact'
import { type Gap, GapKey, gapColumns } from '../../charts/gap-columns.js'
import { pageColumn } from '../../parts/columns.js'
import { ListPanel } from '../../parts/list-panel.js'
import { ViewLink } from '../../parts/names.js'
import { formatRatio } from '../../state/format.js'
import '../../styles/agents.css'
import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { Mark } from '../../parts/marks.js'
import { Meanings } from '../../parts/meanings.js'
import { metricOf, RowChange } from '../../parts/numbers.js'
import { pageNumber } from '../../parts/paging.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { type Column, Table } from '../../parts/table.js'
import { VerdictTag } from '../../parts/tags.js'
import { go, place } from '../../state/address.js'
import { type Result, useRead } from '../../state/data.js'
import { formatNumber } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { envelope, mixedEnvelope } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'

const LIMIT = 50

type Row = DataOf<'/api/citation-gap'>[number]
type Operator = DataOf<'/api/citation-gap/summary'>['operators'][number]

const hasPeople = () => place.value.show !== 'agent'
const hasAgents = () => place.value.show !== 'human'

/** Compares reads by assistants and AI search with the people whom they sent, by page and by operator. */
export default function CitationGap() {
  const texts = t().gap
  const { operator } = place.value.own
  const ask = { ...mixedEnvelope(), operator: operator || undefined }
  const summary = useRead('/api/citation-gap/summary', ask)
  const whole = useRead('/api/citation-gap/summary', mixedEnvelope())
  const answer = useRead('/api/citation-gap', {
    ...ask,
    compare: envelope('agent').compare,
    limit: LIMIT,
    page: pageNumber(),
  })
  const rows = answer.data ?? []
  const most = Math.max(...rows.flatMap(({ fetches, arrivals }) => [fetches, arrivals]), 10)
  return (
    <Sheet title={t().shell.view['citation-gap']}>
      <GapSentence summary={summary} pages={answer} operator={operator} />
      <Verdicts summary={summary} />
      <Operators summary={whole} />
      <ListPanel
        title={texts.byPage}
        aside={answer.meta?.total === undefined ? '' : quantity('/api/citation-gap total', answer.meta.total).text}
        right={<ExportMenu report="citation-gap" only="agent" picture={false} more={operator ? { operator } : {}} />}
        answer={answer}
        emptyText={texts.none}
        skeleton={10}
        rows={rows}
        rowKey={({ hostname, pathname }) => hostname + pathname}
        columns={[
          pageColumn(),
          ...shownColumns<Row>(most),
          {
            key: 'verdict',
            head: t().overview.verdict,
            width: '124px',
            cell: ({ verdict }: Row) => <VerdictTag of={verdict} />,
          },
        ]}
        limit={LIMIT}
        below={hasPeople() && hasAgents() && <GapKey />}
      />
    </Sheet>
  )
}

function GapSentence({
  summary,
  pages,
  operator,
}: {
  summary: Result<'/api/citation-gap/summary'>
  pages: Result<'/api/citation-gap'>
  operator: string | undefined
}) {
  const { gap: texts } = t()
  return (
    <Sentence answers={[summary]} also={[pages]}>
      {() => {
        const { fetches = 0, arrivals = 0, ratio, median } = summary.data ?? {}
        const reads = quantity('/api/citation-gap fetches', fetches, (text) => (
          <ViewLink class="agents" to={['agents']}>
            {text}
          </ViewLink>
        ))
        const visits = quantity('/api/citation-gap arrivals', arrivals, (text) => (
          <ViewLink class="people" to={['sources']}>
            {text}
          </ViewLink>
        ))
        const who = operator || texts.assistants
        if (!hasAgents()) return texts.onlyPeople(whenText(), who, visits)
        if (!hasPeople()) return texts.onlyAgents(whenText(), who, reads)
        return [
          ...texts.sentence(whenText(), who, reads, visits),
          ...(ratio === undefined ? [] : texts.ratio(<b>{formatRatio(ratio)}</b>)),
          ...(median === undefined ? [] : texts.median(formatRatio(median))),
        ]
      }}
    </Sentence>
  )
}

const VERDICTS = ['gap', 'balanced', 'earning', 'unfetched', 'unseen', 'blocked', 'twin', 'insufficient'] as const

/** How many URLs have each verdict, and what it means. */
function Verdicts({ summary }: { summary: Result<'/api/citation-gap/summary'> }) {
  const texts = t().gap
  const { urls, median, threshold = 3 } = summary.data ?? {}
  const limit = (factor: number) => (median === undefined ? undefined : formatNumber(median * factor, 1))
  return (
    <Panel span={5} title={texts.verdicts} aside={t().violations.pages} answers={[summary]} skeleton={7}>
      {() => (
        <Meanings
          rows={VERDICTS.map((verdict) => ({
            key: verdict,
            tag: <VerdictTag of={verdict} />,
            count: formatNumber(urls?.[verdict] ?? 0),
            text: texts.meaning(verdict, formatNumber(threshold, 1), limit(threshold), limit(1 / 3)),
          }))}
        />
      )}
    </Panel>
  )
}

/** Reads and arrivals by operator; a click keeps one operator. */
function Operators({ summary }: { summary: Result<'/api/citation-gap/summary'> }) {
  const texts = t().gap
  const { own } = place.value
  const rows = summary.data?.operators ?? []
  const most = Math.max(...rows.flatMap(({ fetches, arrivals }) => [fetches, arrivals]), 10)
  return (
    <Panel
      span={7}
      title={t().agents.byOperator}
      answers={[summary]}
      empty={rows.length === 0}
      emptyText={texts.none}
      skeleton={7}
    >
      {() => (
        <>
          <Table
            label={t().agents.byOperator}
            rows={rows}
            rowKey={({ operator = '' }) => operator}
            columns={[
              {
                key: 'operator',
                head: t().overview.operator,
                cell: ({ operator }) =>
                  operator === undefined ? (
                    t().parts.unknown
                  ) : (
                    <button
                      type="button"
                      class="cut"
                      aria-pressed={own.operator === operator}
                      aria-label={t().parts.filterBy(operator)}
                      onClick={() =>
                        go({ own: { ...own, operator: own.operator === operator ? '' : operator, page: '' } })
                      }
                    >
                      {operator}
                    </button>
                  ),
              },
              ...shownColumns<Operator>(most),
            ]}
          />
          {hasPeople() && hasAgents() && <GapKey />}
        </>
      )}
    </Panel>
  )
}

interface Shown extends Gap {
  comparison?: unknown
}

/** The columns of reads and arrivals: of both readerships with their ratio, or of one. Each number has its change below it. */
function shownColumns<R extends Shown>(most: number): Column<R>[] {
  const texts = t().gap
  const changeOf = (row: R, key: 'fetches' | 'arrivals') => (
    <RowChange metric={key} now={row[key]} before={metricOf(row.comparison, key)} />
  )
  const number = (key: 'fetches' | 'arrivals', head: string): Column<R> => ({
    key,
    head,
    right: true,
    width: '15%',
    cell: (row) => (
      <>
        {formatNumber(row[key])}
        {changeOf(row, key)}
      </>
    ),
  })
  if (!hasAgents()) return [number('arrivals', texts.arrivals)]
  if (!hasPeople()) return [number('fetches', t().overview.pageReads)]
  const [axis, ...more] = gapColumns<R>(most)
  return [
    { ...number('fetches', t().overview.pageReads), wide: true, width: '90px' },
    { ...number('arrivals', texts.arrivals), wide: true, width: '90px' },
    ...(axis ? [{ ...axis, cell: (row: R) => <Below of={axis.cell(row)}>{changesOf(row, changeOf)}</Below> }] : []),
    ...more,
  ]
}

/** The changes of both numbers, each after its readership's mark: for phones, which have no columns of numbers. */
const changesOf = <R extends Shown>(row: R, changeOf: (row: R, key: 'fetches' | 'arrivals') => ComponentChildren) =>
  row.comparison !== undefined && (
    <>
      <Mark of="human" /> {changeOf(row, 'arrivals')} <Mark of="agent" /> {changeOf(row, 'fetches')}
    </>
  )

const Below = ({ of, children }: { of: ComponentChildren; children: ComponentChildren }) => (
  <>
    {of}
    {children && <span class="narrow beside">{children}</span>}
  </>
)
