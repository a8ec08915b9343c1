import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { column, countColumn, urlColumn } from '../../parts/columns.js'
import { Fact, Facts } from '../../parts/facts.js'
import { ListPanel } from '../../parts/list-panel.js'
import { ViewLink } from '../../parts/names.js'
import { pageNumber } from '../../parts/paging.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { type Column, Table } from '../../parts/table.js'
import { useRead } from '../../state/data.js'
import { formatDay, formatInstant, formatNumber, formatSeconds } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { mixedEnvelope } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { later } from '../../texts/later.js'

const LIMIT = 10
/** Names of agents in a cell; the export has all. */
const MAX_NAMES = 3

type Row = DataOf<'/api/editions'>[number]
type Summary = DataOf<'/api/editions/summary'>

/** The pages that changed, which assistants and agents have an older edition, and how soon they read changed pages again. */
export default function Editions() {
  const texts = later().editions
  const ask = { ...mixedEnvelope(), limit: LIMIT }
  const answer = useRead('/api/editions', { ...ask, page: pageNumber() })
  const top = useRead('/api/editions', { ...ask, page: 1 })
  const summary = useRead('/api/editions/summary', mixedEnvelope())
  const { data: rows = [], meta } = answer
  return (
    <Sheet title={t().shell.view.editions}>
      <Sentence answers={[summary, top]}>{() => sentence(summary.data, top.data?.[0])}</Sentence>
      <ListPanel
        title={texts.title}
        aside={meta?.total !== undefined && texts.byStake(quantity('/api/editions total', meta.total).text)}
        right={<ExportMenu report="editions" only="agent" picture={false} />}
        answer={answer}
        class="roomy"
        emptyText={texts.none}
        skeleton={LIMIT}
        rows={rows}
        rowKey={({ hostname, pathname }) => hostname + pathname}
        columns={columns(rows)}
        limit={LIMIT}
        foot={texts.foot}
      />
      <Panel
        span={7}
        title={texts.reread}
        right={<ExportMenu report="editions/summary" only="agent" picture={false} />}
        answers={[summary]}
        empty={summary.data?.agents.length === 0}
        emptyText={texts.noReread}
      >
        {() => (
          <Table
            label={texts.reread}
            rows={summary.data?.agents ?? []}
            rowKey={({ agent_id }) => agent_id}
            columns={rereadColumns()}
          />
        )}
      </Panel>
      <Panel span={5} title={texts.dates} answers={[summary]} foot={texts.datesFoot}>
        {() => summary.data && <Dates of={summary.data} />}
      </Panel>
    </Sheet>
  )
}

/** Whether an older edition, or none, was read last. */
const isOld = ({ state }: { state: string }): boolean => state === 'old' || state === 'never'

/** How many pages changed, and the one with most readers from operators that have not read it since. */
function sentence(summary: Summary | undefined, most: Row | undefined): readonly unknown[] {
  const texts = later().editions
  if (summary === undefined || summary.pages === 0) return [texts.none]
  const start = texts.sentence(
    whenText(),
    formatNumber(summary.changed),
    quantity('/api/editions/summary pages', summary.pages),
  )
  if (most?.changed_at === undefined || most.at_stake === 0) return [...start, texts.noStake]
  const readers = quantity('/api/editions at_stake', most.at_stake, (text) => <span class="people">{text}</span>)
  const operators = most.operators.filter(isOld).map(({ operator }) => operator)
  const path = <b>{most.pathname.slice(0, 200)}</b>
  const others = most.agents
    .filter(({ state, operator }) => state === 'current' && operator !== undefined && operators.includes(operator))
    .map(({ name }) => name)
  return [
    ...start,
    ...texts.stale(operators.slice(0, MAX_NAMES), readers, path, formatDay(most.changed_at)),
    ...(others.length > 0 ? [texts.others(others.slice(0, MAX_NAMES))] : []),
  ]
}

function columns(rows: readonly Row[]): Column<Row>[] {
  const texts = later().editions
  return [
    urlColumn(rows, texts.page),
    column(texts.changed, { width: '17%', phone: 'below', named: true }, ({ changed_at, varies, lastmod_verdict }) => (
      <>
        {changed_at ? formatInstant(changed_at) : <span class="muted small">{varies ? texts.varies : texts.same}</span>}
        {lastmod_verdict && lastmod_verdict !== 'agrees' && (
          <span class="muted small line">{texts.verdict[lastmod_verdict]}</span>
        )}
      </>
    )),
    column(texts.holders, { width: '24%', phone: 'third', named: true }, ({ changed_at, operators }) =>
      (changed_at === undefined ? [] : operators).filter(isOld).map(({ operator, readers, last_read }) => (
        <span key={operator} class="small line">
          {operator}{' '}
          <span class="muted">
            {texts.lastRead(last_read && formatInstant(last_read), quantity('/api/editions readers', readers).text)}
          </span>
        </span>
      )),
    ),
    column(texts.agents, { width: '28%', phone: 'third' }, ({ agents }) => (
      <>
        <Names label={texts.current} of={agents.filter(({ state }) => state === 'current')} />
        <Names label={texts.old} of={agents.filter(({ state }) => state === 'old')} />
        <Names label={texts.never} of={agents.filter(({ state }) => state === 'never')} />
      </>
    )),
    { ...countColumn('at_stake', { width: '84px', phone: 'end' }, texts.stake), named: true },
  ]
}

/** A line of names of agents, of which the first few are written out. */
function Names({ label, of }: { label: string; of: Row['agents'] }) {
  if (of.length === 0) return null
  const names = of.map(({ name }) => name)
  return (
    <span class="muted small line" title={names.join(', ')}>
      {label}: {later().editions.names(names.slice(0, MAX_NAMES).join(', '), names.length - MAX_NAMES)}
    </span>
  )
}

function rereadColumns(): Column<Summary['agents'][number]>[] {
  const texts = later().editions
  return [
    column(t().agents.agent, {}, ({ agent_id, name }) => <ViewLink to={['agents', agent_id]}>{name}</ViewLink>),
    column(t().overview.operator, { width: '24%', wide: true }, ({ operator }) => operator),
    column(texts.again, { right: true, width: '22%' }, ({ changes, reread }) =>
      texts.ofAll(formatNumber(reread), formatNumber(changes)),
    ),
    column(texts.median, { right: true, width: '22%' }, ({ delay }) =>
      delay === undefined ? '–' : formatSeconds(delay),
    ),
  ]
}

/** The dates of the sitemap held against the changes that samples showed. */
function Dates({ of: { pages, lastmod } }: { of: Summary }) {
  const texts = later().editions
  const { agrees = 0, missed = 0, unfounded = 0 } = lastmod
  return (
    <Facts>
      <Fact name={texts.agree}>{formatNumber(agrees)}</Fact>
      <Fact name={texts.verdict.missed}>{formatNumber(missed)}</Fact>
      <Fact name={texts.verdict.unfounded}>{formatNumber(unfounded)}</Fact>
      <Fact name={texts.noDate}>{formatNumber(pages - agrees - missed - unfounded)}</Fact>
    </Facts>
  )
}
