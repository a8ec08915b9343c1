import { changingColumns, pageColumn } from '../../parts/columns.js'
import { ListPanel } from '../../parts/list-panel.js'
import '../../styles/agents.css'
import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { AgentsLeftOut, showsAgents, TabsLine } from '../../parts/agent-side.js'
import { PageLink } from '../../parts/names.js'
import { pageNumber } from '../../parts/paging.js'
import { Sentence, Sheet } from '../../parts/panel.js'
import type { Column } from '../../parts/table.js'
import { hrefTo, place, viewPath } from '../../state/address.js'
import { formatAgo, formatDay, formatFullInstant, formatNumber, formatSeconds } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { useOne } from '../../state/question.js'
import { t } from '../../texts/index.js'

const LIMIT = 50

type Row = DataOf<'/api/agents/coverage'>[number]

/** The URLs that agents read, how old their copy is, and which URLs no agent ever read. */
export default function Coverage() {
  const texts = t().coverage
  const order = place.value.own.order === 'stale' ? 'stale' : 'fetches'
  const answer = useOne('/api/agents/coverage', 'agent', {
    order,
    limit: LIMIT,
    page: pageNumber(),
  })
  return (
    <Sheet title={t().shell.view.coverage}>
      <CoverageSentence />
      <AgentsLeftOut />
      <ListPanel
        title={t().shell.view.coverage}
        aside={answer.meta?.total === undefined ? '' : quantity('/api/agents/coverage total', answer.meta.total).text}
        right={
          <>
            <TabsLine
              name="order"
              label={texts.order}
              tabs={[
                ['fetches', texts.mostRead],
                ['stale', texts.longestUnread],
              ]}
            />
            <ExportMenu report="agents/coverage" more={{ order }} only="agent" picture={false} />
          </>
        }
        answer={answer}
        rows={answer.data ?? []}
        skeleton={10}
        rowKey={({ hostname, pathname }) => hostname + pathname}
        columns={columns()}
        limit={LIMIT}
      />
    </Sheet>
  )
}

/** How many pages agents never read, or which they left for longest; and which agent fetched most. */
function CoverageSentence() {
  const texts = t().coverage
  // The first rows of the order "longest unread".
  const stale = useOne('/api/agents/coverage', 'agent', { order: 'stale', limit: LIMIT, page: 1 })
  const by = useOne('/api/agents/breakdown', 'agent', { dimension: 'agent_id', limit: 20 }, showsAgents())
  const totals = useOne('/api/agents/overview', 'agent', {}, showsAgents())
  return (
    <Sentence answers={[stale]} also={showsAgents() ? [by, totals] : []}>
      {() => {
        const rows = stale.data ?? []
        const [first] = rows
        if (first === undefined) return texts.sentenceNone
        const page = <PageLink path={first.pathname} />
        const pages = quantity('/api/agents/coverage total', stale.meta?.total ?? 0, (text) => (
          <a href={hrefTo({ own: { order: 'stale' } })}>{text}</a>
        ))
        const unread = rows.filter(({ last_crawl }) => last_crawl === undefined).length
        const lead =
          first.last_crawl === undefined
            ? texts.sentenceNever(pages, unread, unread === LIMIT, page)
            : texts.sentence(pages, page, formatAgo(first.last_crawl))
        return [...lead, ...mostFetched(by.data, totals.data)]
      }}
    </Sentence>
  )
}

/** Fetches that did not fail the check of the name, as the table counts them. */
const genuine = ({ fetches = 0, spoofed = 0 }: { fetches?: number; spoofed?: number } = {}) => fetches - spoofed

function mostFetched(
  agents: DataOf<'/api/agents/breakdown'> = [],
  totals: DataOf<'/api/agents/overview'> | undefined,
): readonly unknown[] {
  const [most] = agents.filter(({ name }) => name !== undefined).toSorted((a, b) => genuine(b) - genuine(a))
  if (most === undefined || totals === undefined || genuine(most) === 0) return []
  const link = <a href={hrefTo({ path: viewPath('agents', `${most.value}`) })}>{most.name}</a>
  return t().coverage.most(link, genuine(most), quantity('/api/agents/overview fetches', genuine(totals)))
}

const yes = (is: boolean | undefined, words: { yes: string; no: string }) =>
  is === undefined ? <span class="muted">–</span> : is ? `✓ ${words.yes}` : <span class="muted">{words.no}</span>

/** A column that says whether a page is listed somewhere. */
const listedColumn = (key: string, head: string, isListed: (row: Row) => boolean | undefined): Column<Row> => ({
  key,
  head,
  wide: true,
  width: '68px',
  cell: (row) => yes(isListed(row), t().coverage.listed),
})

/** The columns of the readerships on screen. */
function columns(): Column<Row>[] {
  const texts = t().coverage
  const people: Column<Row> = {
    key: 'people',
    head: texts.people,
    right: true,
    wide: true,
    width: '76px',
    cell: ({ pageviews }) => (pageviews === undefined ? <span class="muted">–</span> : formatNumber(pageviews)),
  }
  return [
    pageColumn(),
    ...(place.value.show === 'agent' ? [] : [people]),
    ...(showsAgents() ? agentColumns() : []),
    listedColumn('sitemap', texts.sitemap, ({ in_sitemap }) => in_sitemap),
  ]
}

function agentColumns(): Column<Row>[] {
  const { coverage: texts, parts } = t()
  return [
    ...changingColumns('fetches', { width: '64px', changeWidth: '80px' }),
    {
      key: 'agents',
      head: parts.metric.agents,
      right: true,
      wide: true,
      rare: true,
      width: '60px',
      cell: ({ agents }) => <span title={agents.join(', ')}>{formatNumber(agents.length)}</span>,
    },
    {
      key: 'first',
      head: texts.first,
      right: true,
      wide: true,
      rare: true,
      width: '72px',
      cell: ({ first_crawl }) =>
        first_crawl && (
          <span class="muted no-wrap" title={formatFullInstant(first_crawl)}>
            {formatDay(first_crawl)}
          </span>
        ),
    },
    {
      key: 'age',
      head: texts.age,
      right: true,
      width: '112px',
      cell: ({ last_crawl, freshness_gap }) =>
        last_crawl === undefined || freshness_gap === undefined ? (
          <b>{texts.never}</b>
        ) : (
          <span class="no-wrap" title={formatFullInstant(last_crawl)}>
            {formatSeconds(freshness_gap)}
          </span>
        ),
    },
    {
      key: 'status',
      head: texts.status,
      right: true,
      wide: true,
      rare: true,
      width: '56px',
      cell: ({ last_status }) => last_status ?? <span class="muted">–</span>,
    },
    {
      key: 'robots',
      head: <abbr title={texts.robotsHint}>{texts.robots}</abbr>,
      wide: true,
      width: '116px',
      cell: ({ robots_allowed }) =>
        robots_allowed === false ? (
          <b class="no-wrap">✕ {texts.disallowed}</b>
        ) : (
          yes(robots_allowed, { yes: texts.allowed, no: '' })
        ),
    },
    {
      ...listedColumn('llms', 'llms.txt', ({ llms_listed }) =>
        llms_listed === undefined ? undefined : llms_listed === 1,
      ),
      rare: true,
    },
  ]
}
