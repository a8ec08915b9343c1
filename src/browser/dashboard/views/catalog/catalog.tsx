import { operatorName } from '../../parts/claimed-name.js'
import '../../styles/agents.css'
import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { TabsLine } from '../../parts/agent-side.js'
import { IdentityText } from '../../parts/identity.js'
import { Ago, RowName } from '../../parts/names.js'
import { metricName, RowChange } from '../../parts/numbers.js'
import { Paging, pageNumber } from '../../parts/paging.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { type Column, Table } from '../../parts/table.js'
import { go, hrefTo, place, viewPath } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { formatAgo, formatFullInstant, formatNumber } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { envelope } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'

const LIMIT = 50

type Entry = DataOf<'/api/agents/catalog'>[number]
type Fetched = DataOf<'/api/agents/breakdown'>[number]

/** Every agent that readership knows, how it can be verified, and whether the site saw it. Filters do not apply. */
export default function Catalog() {
  const texts = t().catalog
  const { q = '', seen: only } = place.value.own
  const { compare, ...asked } = envelope('agent')
  const query = { ...asked, filters: undefined, segment: undefined }
  const answer = useRead('/api/agents/catalog', { ...query, limit: 1000 })
  const fetched = useRead(
    '/api/agents/breakdown',
    compare === undefined ? undefined : { ...query, compare, dimension: 'agent_id', limit: 1000 },
  )
  const all = answer.data ?? []
  const entries = all.filter(
    (entry) => (only === 'yes' ? entry.seen : only !== 'no' || !entry.seen) && matches(entry, q),
  )
  const page = pageNumber()
  const search = (text: string) => go({ own: { ...place.value.own, q: text, page: '' } }, true)
  return (
    <Sheet title={t().shell.view.catalog}>
      <Sentence answers={[answer]} also={[fetched]}>
        {() =>
          texts.sentence(
            whenText(),
            quantity('/api/agents/catalog agent_id', all.length),
            new Set(all.map(({ operator }) => operator)).size,
            all.filter(({ verification }) => verification.length > 0).length,
            <a class="agents" href={hrefTo({ own: { seen: 'yes' } })}>
              {formatNumber(all.filter(({ seen }) => seen).length)}
            </a>,
          )
        }
      </Sentence>
      <Panel
        title={t().shell.view.catalog}
        aside={answer.data && quantity('/api/agents/catalog agent_id', entries.length).text}
        right={
          <>
            <TabsLine
              name="seen"
              label={texts.seen}
              tabs={[
                ['', t().agents.all],
                ['yes', texts.seen],
                ['no', texts.unseen],
              ]}
            />
            <ExportMenu report="agents/catalog" only="agent" picture={false} />
          </>
        }
        answers={[answer]}
        skeleton={10}
      >
        {() => (
          <div class="agent-rows">
            <label class="field catalog-search">
              <span class="visually-hidden">{texts.search}</span>
              <input
                type="search"
                placeholder={texts.search}
                value={q}
                maxLength={100}
                onInput={(event) => search(event.currentTarget.value)}
              />
            </label>
            {entries.length === 0 ? (
              <p class="state">{texts.none(q)}</p>
            ) : (
              <Table
                label={t().shell.view.catalog}
                rows={entries.slice((page - 1) * LIMIT, page * LIMIT)}
                rowKey={({ agent_id }) => agent_id}
                columns={columns(new Map(fetched.data?.map((row) => [`${row.value}`, row])))}
              />
            )}
            <Paging total={entries.length} limit={LIMIT} />
          </div>
        )}
      </Panel>
    </Sheet>
  )
}

const matches = ({ agent_id, name, operator, purpose, robots_token = '' }: Entry, text: string): boolean =>
  [agent_id, name, operator, robots_token, t().parts.purpose[purpose] ?? purpose].some((each) =>
    each.toLowerCase().includes(text.trim().toLowerCase()),
  )

function columns(fetched: ReadonlyMap<string, Fetched>): Column<Entry>[] {
  const { catalog: texts, agents, parts } = t()
  return [
    {
      key: 'agent',
      head: agents.agent,
      cell: ({ agent_id, name, operator }) => (
        <span class="row-name">
          <RowName label={name} to={viewPath('agents', agent_id)} />
          {operator !== name && <span class="muted small cut">{operatorName(operator)}</span>}
        </span>
      ),
    },
    {
      key: 'purpose',
      head: agents.purpose,
      wide: true,
      width: '11%',
      cell: ({ purpose }) => parts.purpose[purpose] ?? purpose,
    },
    {
      key: 'robots',
      head: texts.obeys,
      wide: true,
      width: '16%',
      cell: ({ respects_robots }) => (
        <span class={respects_robots === 'unknown' ? 'muted' : ''}>{texts.respects[respects_robots]}</span>
      ),
    },
    {
      key: 'ways',
      head: texts.verification,
      width: '18%',
      cell: ({ verification }) =>
        verification.length === 0 ? (
          <IdentityText of={{}} />
        ) : (
          <span class="wraps ways">{verification.map((way) => agents.ways[way] ?? way).join(', ')}</span>
        ),
    },
    {
      key: 'ranges',
      head: texts.ranges,
      right: true,
      wide: true,
      rare: true,
      width: '12%',
      cell: ({ ranges }) =>
        ranges && (
          <span title={formatFullInstant(ranges.refreshed_at)}>
            {ranges.stale ? <span class="tag">{texts.stale}</span> : formatNumber(ranges.count)}{' '}
            <span class="muted small">· {formatAgo(ranges.refreshed_at)}</span>
          </span>
        ),
    },
    ...seenColumns(fetched),
  ]
}

/** Columns of the fetches that the site has seen of an agent. */
function seenColumns(fetched: ReadonlyMap<string, Fetched>): Column<Entry>[] {
  const { catalog: texts, agents, parts } = t()
  const beforeOf = ({ agent_id }: Entry) => fetched.get(agent_id)?.comparison?.fetches
  const change = (entry: Entry) =>
    entry.seen && <RowChange metric="fetches" now={entry.seen.fetches} before={beforeOf(entry)} />
  return [
    {
      key: 'fetches',
      head: metricName('fetches'),
      right: true,
      width: '76px',
      cell: (entry) =>
        entry.seen === undefined ? (
          <span class="muted small">{texts.notSeen}</span>
        ) : (
          <>
            {formatNumber(entry.seen.fetches)}
            <span class="narrow">{change(entry)}</span>
          </>
        ),
    },
    {
      key: 'change',
      head: parts.change,
      right: true,
      wide: true,
      width: '84px',
      cell: change,
      isEmpty: (entry) => entry.seen === undefined || beforeOf(entry) === undefined,
    },
    {
      key: 'last',
      head: agents.lastRead,
      right: true,
      wide: true,
      width: '96px',
      cell: ({ seen }) => seen && <Ago at={seen.last_seen} />,
    },
  ]
}
