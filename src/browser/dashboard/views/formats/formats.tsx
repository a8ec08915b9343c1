import '../../styles/agents.css'
import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { AgentsLeftOut } from '../../parts/agent-side.js'
import { LinkButton } from '../../parts/buttons.js'
import { column, countColumn, countText, named, pageColumn } from '../../parts/columns.js'
import { ListPanel } from '../../parts/list-panel.js'
import { ViewLink } from '../../parts/names.js'
import { metricName } from '../../parts/numbers.js'
import { Sentence, Sheet } from '../../parts/panel.js'
import { SplitBar } from '../../parts/split-bar.js'
import type { Column } from '../../parts/table.js'
import { go, place } from '../../state/address.js'
import type { Result } from '../../state/data.js'
import { formatNumber, formatSeconds, formatShare } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { useOne } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { later } from '../../texts/later.js'
import { shownAgents } from './shown-agents.js'

type Formats = DataOf<'/api/agents/formats'>
type Cell = Formats['pairs'][number]
type Reader = DataOf<'/api/agents/llms-links'>['agents'][number]
type Link = DataOf<'/api/agents/llms-links'>['links'][number]

/** Rows of the lists. */
const MAX_ROWS = 20

/** The formats that agents ask for and get, and the links of llms.txt that they follow. */
export default function FormatsView() {
  const formats = useOne('/api/agents/formats', 'agent')
  const llms = useOne('/api/agents/llms-links', 'agent')
  const texts = later().formats
  return (
    <Sheet title={t().shell.view.formats}>
      <Sentence answers={[formats]} also={[llms]}>
        {() => {
          const { fetches = 0, markdown_asked, markdown_share } = formats.data ?? {}
          const { listed, unfollowed = 0 } = llms.data ?? {}
          return [
            ...texts.sentence(whenText(), quantity('/api/agents/formats fetches', fetches)),
            ...(markdown_asked === undefined ? texts.unknownAccept : texts.markdown(formatNumber(markdown_asked))),
            ...(markdown_share === undefined ? [] : texts.got(<b>{formatShare(markdown_share)}</b>)),
            ...(listed === undefined ? [] : texts.links(formatNumber(listed), formatNumber(unfollowed))),
          ]
        }}
      </Sentence>
      <AgentsLeftOut />
      <Matrix formats={formats} />
      <ListPanel
        title={texts.withoutMarkdown}
        span={6}
        answer={formats}
        emptyText={texts.noneWithoutMarkdown}
        rows={(formats.data?.pages ?? []).slice(0, MAX_ROWS)}
        rowKey={({ hostname, pathname }) => hostname + pathname}
        columns={urlColumns()}
        limit={MAX_ROWS}
      />
      <ListPanel
        title={texts.twins}
        span={6}
        aside={texts.twinsAside}
        answer={formats}
        emptyText={texts.noTwins}
        rows={(formats.data?.twin_pages ?? []).slice(0, MAX_ROWS)}
        rowKey={({ hostname, pathname }) => hostname + pathname}
        columns={urlColumns()}
        limit={MAX_ROWS}
      />
      <ListPanel
        title={texts.readers}
        aside={llms.data?.hostname ?? ''}
        right={<ExportMenu report="agents/llms-links" only="agent" picture={false} />}
        answer={llms}
        emptyText={texts.noReaders}
        rows={llms.data?.agents ?? []}
        rowKey={({ agent_id }) => agent_id}
        columns={readerColumns()}
        limit={MAX_ROWS}
      />
      <ListPanel
        title={texts.followed}
        aside={texts.followedAside}
        answer={llms}
        emptyText={texts.noLinks}
        rows={llms.data?.links ?? []}
        rowKey={({ pathname }) => pathname}
        columns={linkColumns()}
        limit={500}
      />
    </Sheet>
  )
}

/** The formats that agents asked for and got: of all together, then of each agent. */
function Matrix({ formats }: { formats: Result<'/api/agents/formats'> }) {
  const texts = later().formats
  const { own } = place.value
  const all = formats.data?.agents ?? []
  const few = shownAgents(all)
  const agents = own.all ? all : few
  const shown = texts.shownOf(formatNumber(agents.length), formatNumber(formats.meta?.rows ?? all.length))
  return (
    <ListPanel
      title={texts.matrix}
      aside={`${shown} · ${texts.matrixAside}`}
      right={
        <>
          {few.length < all.length && (
            <LinkButton aria-pressed={own.all === '1'} onClick={() => go({ own: { ...own, all: own.all ? '' : '1' } })}>
              {own.all ? texts.fewer : texts.all}
            </LinkButton>
          )}
          <ExportMenu report="agents/formats" only="agent" picture={false} />
        </>
      }
      answer={formats}
      emptyText={texts.none}
      skeleton={10}
      rows={matrixRows(formats.data?.pairs ?? [], agents)}
      rowKey={({ key }) => key}
      columns={matrixColumns()}
      limit={MAX_ROWS}
    />
  )
}

interface MatrixRow {
  key: string
  /** Absent for all agents together. */
  agent?: { agent_id: string; name: string }
  accepts: string | undefined
  fetches: number
  cells: readonly Cell[]
  most: number
}

/** A row for each format that was asked for: of all agents, then of each agent. */
function matrixRows(all: readonly Cell[], agents: Formats['agents']): MatrixRow[] {
  const rows = (cells: readonly Cell[], agent?: MatrixRow['agent']): MatrixRow[] => {
    const asked = [...new Set(cells.map(({ accepts }) => accepts))].map((accepts) => {
      const own = cells.filter((cell) => cell.accepts === accepts)
      return { accepts, cells: own, fetches: own.reduce((sum, { fetches }) => sum + fetches, 0) }
    })
    const most = Math.max(...asked.map(({ fetches }) => fetches), 1)
    return asked
      .toSorted((a, b) => b.fetches - a.fetches)
      .map((row) => ({ ...row, most, key: `${agent?.agent_id} ${row.accepts}`, ...(agent ? { agent } : {}) }))
  }
  return [...rows(all), ...agents.flatMap(({ agent_id, name, pairs }) => rows(pairs, { agent_id, name }))]
}

/** Whether a response has the format that was asked for; every format suits a reader of any. */
const suits = ({ accepts, served }: Cell): boolean => accepts === 'any' || (accepts !== undefined && accepts === served)

function matrixColumns(): Column<MatrixRow>[] {
  const texts = later().formats
  return [
    column(t().agents.agent, { width: '26%' }, ({ agent }) =>
      agent === undefined ? (
        <b>{texts.allAgents}</b>
      ) : (
        <ViewLink to={['agents', agent.agent_id]}>{agent.name}</ViewLink>
      ),
    ),
    column(texts.asked, { width: '18%', phone: 'beside' }, ({ accepts }) => texts.format(accepts)),
    numberColumn(metricName('fetches'), { width: '12%', phone: 'end' }, ({ fetches }) => countText(fetches)),
    column(texts.suited, { width: '18%' }, ({ cells, fetches, most }) => {
      const suited = cells.filter(suits).reduce((sum, cell) => sum + cell.fetches, 0)
      return <SplitBar of={{ verified_fetches: suited, fetches }} most={most} />
    }),
    column(texts.served, { phone: 'below' }, ({ cells }) =>
      cells.map(({ served, fetches }) => `${texts.format(served)} ${formatNumber(fetches)}`).join(' · '),
    ),
  ]
}

const urlColumns = (): Column<Formats['pages'][number]>[] => [
  pageColumn(),
  countColumn('fetches', { width: '90px' }),
  countColumn('agents', { width: '90px' }),
]

const numberColumn = <Row,>(head: string, look: Look<Row>, text: (row: Row) => string): Column<Row> => ({
  ...column<Row>(head, look, (row) => named(head, text(row))),
  right: true,
})
type Look<Row> = Pick<Column<Row>, 'width' | 'phone'>

const secondsText = (seconds: number | undefined): string => (seconds === undefined ? '–' : formatSeconds(seconds))

function readerColumns(): Column<Reader>[] {
  const texts = later().formats
  return [
    column(t().agents.agent, { width: '22%' }, ({ agent_id, name }) => (
      <ViewLink to={['agents', agent_id]}>{name}</ViewLink>
    )),
    numberColumn('llms.txt', { width: '12%', phone: 'end' }, ({ reads }) => countText(reads)),
    numberColumn('llms-full.txt', { width: '12%' }, ({ full_reads }) => countText(full_reads)),
    numberColumn(texts.linksAfter, { width: '12%', phone: 'below' }, ({ links }) => countText(links)),
    numberColumn(texts.soon, { width: '12%', phone: 'below-end' }, ({ seconds }) => secondsText(seconds)),
    column(texts.order, { phone: 'third' }, ({ steps }) => (
      <span class="usual-order">
        {steps
          .slice(0, 4)
          .map(({ pathname }) => pathname)
          .join(' → ')}
      </span>
    )),
  ]
}

function linkColumns(): Column<Link>[] {
  const texts = later().formats
  return [
    pageColumn(texts.link),
    column(texts.section, { width: '18%' }, ({ section, current }) => (current ? section : texts.former)),
    column(texts.by, { width: '16%', phone: 'end' }, ({ agents }) =>
      agents === 0 ? texts.never : named(texts.by, countText(agents)),
    ),
    countColumn('fetches', { width: '12%' }),
    numberColumn(texts.soon, { width: '12%', phone: 'below' }, ({ seconds }) => secondsText(seconds)),
    numberColumn(texts.place, { width: '12%', phone: 'below-end' }, ({ place }) =>
      place === undefined ? '–' : formatNumber(place, 1),
    ),
  ]
}
