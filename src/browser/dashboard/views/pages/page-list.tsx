import { ExportMenu } from '../../charts/export-menu.js'
import { Amount, Bar } from '../../parts/lists.js'
import { Mark } from '../../parts/marks.js'
import { Ago, PageLink, PageName, ViewLink } from '../../parts/names.js'
import { metricName, metricOf, writeMetric } from '../../parts/numbers.js'
import { Paging } from '../../parts/paging.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { Lacking, Warnings } from '../../parts/states.js'
import { DisallowedTag } from '../../parts/tags.js'
import { type Audience, go, place } from '../../state/address.js'
import { filtersWith } from '../../state/filters.js'
import { quantity } from '../../state/quantity.js'
import { askable, audiences, usePair } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { DISALLOWED, type PageRow, ROWS, sortedBy, usePageRows } from './page-rows.js'
import { SectionPanels } from './section-panels.js'

/** Metrics beside the bar, from the middle outwards, and the metric of the bar, by which the API sorts. */
const DETAILS = {
  human: ['pageviews', 'entries', 'exits', 'time_on_page', 'scroll_depth'],
  agent: ['fetches', 'agents', 'verified'],
} as const
const BARS = { human: 'visitors', agent: 'pageviews' } as const

/** Every page with both readerships side by side. */
export function PageList() {
  const texts = t().pages
  const { pages, rows } = usePageRows()
  const { show } = place.value
  const sides = audiences.value
  const lead = sortedBy()
  const isFiltered = place.value.filters.length > 0 || place.value.segment !== undefined
  const hasNoScript = pages.human.meta?.warnings?.some(({ code }) => code === 'no_engagement_data') ?? false
  return (
    <Sheet title={t().shell.view.pages}>
      <ListSentence pages={pages} rows={rows} />
      <SectionPanels />
      <Panel
        title={t().shell.view.pages}
        aside={texts.sortedBy[lead]}
        right={<ExportMenu report="pages" picture={false} />}
        answers={sides.map((of) => pages[of])}
        empty={rows.length === 0 && !pages[lead].loading}
        emptyText={isFiltered ? texts.emptyFiltered : texts.empty}
        skeleton={12}
      >
        {() => (
          <>
            {sides.map((of) => (
              <Lacking key={of} of={of} />
            ))}
            <PageTable rows={rows.map((row) => zeros(row, pages))} />
            <Paging total={pages[lead].meta?.total} limit={ROWS} />
            {sides.includes('human') && hasNoScript && (
              <p class="foot">
                {texts.noScript} <ViewLink to={['settings', 'install']}>{t().settings.sections.install}</ViewLink>
              </p>
            )}
            {show === 'agent' && <Warnings of={[pages.agent.meta]} />}
          </>
        )}
      </Panel>
    </Sheet>
  )
}

function ListSentence({ pages, rows }: ReturnType<typeof usePageRows>) {
  const texts = t().pages
  const show = askable.value
  const lead = sortedBy()
  const other = lead === 'human' ? 'agent' : 'human'
  const others = usePair('/api/stats/pages', (of) => (of === other ? { limit: 1, compare: undefined } : undefined))
  const disallowed = usePair('/api/stats/pages', (of) =>
    of === 'agent' ? { limit: 1, compare: undefined, filters: filtersWith(DISALLOWED) } : undefined,
  )
  return (
    <Sentence answers={[pages[lead]]} also={[others[other], disallowed.agent]}>
      {() => {
        const when = whenText()
        const total = pages[lead].meta?.total ?? 0
        const otherTotal = others[other].meta?.total ?? 0
        if (total === 0 && otherTotal === 0) return texts.list.none(when)
        const count = (of: Audience, n: number) =>
          quantity('/api/stats/pages total', n, (text) => <span class={SENTENCE_CLASS[of]}>{text}</span>)
        const disobeyed = disallowed.agent.meta?.total ?? 0
        const violations = quantity('/api/stats/pages total', disobeyed, (text) => (
          <ViewLink to={['violations']}>{text}</ViewLink>
        ))
        return [
          ...(show === 'both'
            ? lead === 'human'
              ? texts.list.both(when, count(lead, total), count(other, otherTotal))
              : texts.list.both(when, count(other, otherTotal), count(lead, total))
            : texts.list[show](when, count(lead, total))),
          ...mostRead(lead, rows[0]),
          ...(show !== 'human' && disobeyed > 0 ? texts.list.disallowed(violations) : []),
        ]
      }}
    </Sentence>
  )
}
const SENTENCE_CLASS = { human: 'people', agent: 'agents' } as const

function mostRead(of: Audience, row: PageRow | undefined): readonly unknown[] {
  if (!row) return []
  const page = <PageLink path={row.pathname} />
  return [t().pages.list.most[of], page, '.']
}

/** The names of a side's columns, from left to right. People's bar ends at the axis, agents' begins there. */
function columnsOf(of: Audience, rows: readonly PageRow[]): readonly string[] {
  const { show } = place.value
  const details = DETAILS[of].filter(
    (metric) =>
      (of === 'human' || show === 'agent' || metric === 'agents') &&
      rows.some((row) => row[of]?.[metric] !== undefined),
  )
  return of === 'human' && show === 'both' ? details.toReversed() : details
}

/** Some details leave the table of both readerships before its names become too short to read. */
const RARE = ['entries', 'exits', 'scroll_depth']
const cellClass = (metric: string): string => `right-align roomy ${RARE.includes(metric) ? 'rare' : ''}`

function PageTable({ rows }: { rows: readonly PageRow[] }) {
  const texts = t().pages
  const { show } = place.value
  const columns = { human: columnsOf('human', rows), agent: columnsOf('agent', rows) }
  const isMirrored = show === 'both'
  const details = (of: Audience) =>
    columns[of].map((metric) => (
      <th scope="col" class={`${cellClass(metric)} ${metric === 'time_on_page' ? 'time' : ''}`} key={metric}>
        {metricName(metric)}
      </th>
    ))
  return (
    <div class="scroll">
      <table class={`butterfly fixed pages ${show}`}>
        <thead>
          <tr>
            <th scope="col">{t().overview.page}</th>
            {show !== 'agent' && isMirrored && details('human')}
            {show !== 'agent' && <BarHead of="human" />}
            {show !== 'agent' && !isMirrored && details('human')}
            {show !== 'human' && (
              <>
                <BarHead of="agent" />
                {details('agent')}
                <th scope="col" class="right-align roomy ago">
                  {texts.lastRead}
                </th>
                <th scope="col" class="wide robots">
                  {texts.robots}
                </th>
              </>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={row.pathname} row={row} rows={rows} columns={columns} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function BarHead({ of }: { of: Audience }) {
  const texts = t().pages
  const { show, own } = place.value
  const name = of === 'agent' ? texts.pageReads : metricName(BARS[of])
  const isSorted = sortedBy() === of
  return (
    <th scope="col" class={of} {...(isSorted ? { 'aria-sort': 'descending' as const } : {})}>
      <span>
        {of === 'agent' && <Mark of={of} />}
        {show === 'both' ? (
          <button
            type="button"
            class="sort"
            onClick={() => go({ own: { ...own, order: of === 'human' ? '' : of, page: '' } })}
          >
            {name}
            {isSorted ? ' ↓' : ''}
          </button>
        ) : (
          `${name} ↓`
        )}
        {of === 'human' && <Mark of={of} />}
      </span>
    </th>
  )
}

interface RowProps {
  row: PageRow
  rows: readonly PageRow[]
  columns: Readonly<Record<Audience, readonly string[]>>
}

function Row({ row, rows, columns }: RowProps) {
  const texts = t().pages
  const { show } = place.value
  const isMirrored = show === 'both'
  const details = (of: Audience) =>
    columns[of].map((metric) => (
      <td class={cellClass(metric)} key={metric}>
        {writeMetric(metric, metricOf(row[of], metric))}
      </td>
    ))
  const bar = (of: Audience) => {
    const metric = BARS[of]
    const most = Math.max(...rows.map((each) => each[of]?.[metric] ?? 0), 1)
    const isLeft = of === 'human' && isMirrored
    return (
      <td class={of} key={of}>
        <span class="side">
          <Amount metric={metric} now={row[of]?.[metric]} before={metricOf(row[of]?.comparison, metric)} />
          <Bar share={(row[of]?.[metric] ?? 0) / most} of={of} mirrored={isLeft} />
        </span>
      </td>
    )
  }
  return (
    <tr>
      <th scope="row">
        <PageName path={row.pathname} />
      </th>
      {show !== 'agent' && isMirrored && details('human')}
      {show !== 'agent' && bar('human')}
      {show !== 'agent' && !isMirrored && details('human')}
      {show !== 'human' && (
        <>
          {bar('agent')}
          {details('agent')}
          <td class="right-align roomy muted no-wrap">
            {row.lastRead ? <Ago at={row.lastRead} /> : row.lastRead === null ? texts.never : '–'}
          </td>
          <td class="wide">{row.lastRead && row.disallowed !== undefined && <Robots disallowed={row.disallowed} />}</td>
        </>
      )}
    </tr>
  )
}

function Robots({ disallowed }: { disallowed: number }) {
  if (disallowed === 0) return <span class="muted small">{t().coverage.allowed}</span>
  return <DisallowedTag count={disallowed} />
}

/** A page that a readership was asked about and did not read was read 0 times by it. */
const zeros = (row: PageRow, pages: ReturnType<typeof usePageRows>['pages']): PageRow => ({
  ...row,
  human: row.human ?? (pages.human.data && { pathname: row.pathname, visitors: 0, pageviews: 0 }),
  agent: row.agent ?? (pages.agent.data && { pathname: row.pathname, pageviews: 0, agents: 0 }),
})
