import { useState } from 'preact/hooks'
import { ExportMenu } from '../../charts/export-menu.js'
import { TableButton } from '../../parts/buttons.js'
import { countColumn } from '../../parts/columns.js'
import { Choose } from '../../parts/fields.js'
import { Later } from '../../parts/later.js'
import { PageName } from '../../parts/names.js'
import { Panel, Sheet } from '../../parts/panel.js'
import { Lacking, Warnings } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import { go, place } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { formatNumber, formatShare } from '../../state/format.js'
import { envelope, obstacle, siteQuery } from '../../state/question.js'
import { t } from '../../texts/index.js'
import '../../styles/behaviour.css'
import { Explorer } from './explorer.js'
import { foldJourneys, type JourneyNode } from './fold.js'
import { Sankey } from './sankey.js'

const DEPTHS = [2, 3, 4, 5, 6, 7, 8]
const DEFAULT_DEPTH = 4
const MAX_LINKS = 100
/** Links in the table below the chart. */
const LINKS_BELOW = 10

/** A page with what came before and after it, for both readerships; below, all paths of visits as flows. */
export default function Journeys() {
  const isPeople = place.value.show !== 'agent'
  return (
    <Sheet title={t().shell.view.journeys}>
      <Explorer />
      {isPeople && (
        <Later>
          <Paths />
        </Later>
      )}
    </Sheet>
  )
}

/** The question: the window's `start` and the first page share a name, so both are given. */
function useJourneys(depth: number, from: string | undefined, to: string | undefined) {
  const { start, filters, ...rest } = envelope('human')
  const starts = [start, from].filter((each) => each !== undefined).map(String)
  const all = [...place.value.filters, ...(to ? [{ dimension: 'exit_page', op: 'is', value: to }] : [])]
  return useRead(
    '/api/stats/journeys',
    obstacle('human') === undefined
      ? {
          ...rest,
          compare: undefined,
          depth,
          filters: all.length > 0 ? JSON.stringify(all) : filters,
          ...(starts.length > 0 ? { start: starts } : {}),
        }
      : undefined,
  )
}

const asPath = (text: string | undefined): string | undefined => (text?.startsWith('/') ? text : undefined)

/** The paths as flows, and the most frequent steps as a table. */
function Paths() {
  const { behaviour } = t()
  const texts = behaviour.journeys
  const { own } = place.value
  const depth = DEPTHS.find((each) => `${each}` === own.depth) ?? DEFAULT_DEPTH
  const [from, to] = [asPath(own.from), asPath(own.to)]
  const answer = useJourneys(depth, from, to)
  const journeys = foldJourneys(answer.data)
  const [asTable, setAsTable] = useState(false)
  const choose = (changed: Record<string, string>) => go({ own: { ...place.value.own, ...changed } })
  const nameOf = (node: JourneyNode | undefined): string =>
    node === undefined ? '' : node.kind === 'page' ? node.pathname : texts.kinds[node.kind]
  const byId = new Map(journeys.nodes.map((node) => [node.id, node]))
  const sorted = journeys.links.toSorted((a, b) => b.sessions - a.sessions)
  const links = sorted.slice(0, asTable ? MAX_LINKS : LINKS_BELOW)
  return (
    <Panel
      title={texts.title}
      answers={[answer]}
      empty={journeys.links.length === 0}
      emptyText={from || to ? texts.emptyFrom : undefined}
      skeleton={10}
      right={
        <>
          <PathFields depth={depth} from={from ?? ''} to={to ?? ''} onChange={choose} />
          <TableButton asTable={asTable} onTurn={setAsTable} />
          <ExportMenu report="journeys" only="human" more={{ depth: `${depth}` }} picture={!asTable} />
        </>
      }
      foot={texts.foot}
    >
      {() => (
        <>
          <Lacking of="human" />
          {!asTable && (
            <Sankey
              journeys={journeys}
              nameOf={nameOf}
              label={texts.title}
              onFollow={(path) => choose({ from: path })}
            />
          )}
          <div class={asTable ? '' : 'below-chart'}>
            <StepTable links={links} nodes={byId} />
          </div>
          <Warnings of={[answer.meta]} />
        </>
      )}
    </Panel>
  )
}

interface StepTableProps {
  links: ReturnType<typeof foldJourneys>['links']
  nodes: ReadonlyMap<string, JourneyNode>
}

/** Steps from page to page, with the share of the visits of the first that took them. */
function StepTable({ links, nodes }: StepTableProps) {
  const { journeys: texts, errors } = t().behaviour
  return (
    <Table
      label={texts.title}
      rows={links}
      rowKey={({ source, target }) => `${source} ${target}`}
      columns={[
        { key: 'from', head: t().shell.from, cell: ({ source }) => <NodeName node={nodes.get(source)} /> },
        { key: 'to', head: texts.to, cell: ({ target }) => <NodeName node={nodes.get(target)} /> },
        {
          key: 'step',
          head: texts.step,
          right: true,
          width: '10%',
          cell: ({ source }) => formatNumber(nodes.get(source)?.depth ?? 0),
        },
        countColumn('sessions', { width: '14%' }, errors.figures.sessions),
        {
          key: 'share',
          head: texts.share,
          right: true,
          wide: true,
          width: '14%',
          cell: ({ source, sessions }) => {
            const of = nodes.get(source)?.sessions ?? 0
            return of > 0 ? formatShare(sessions / of) : ''
          },
        },
      ]}
    />
  )
}

function NodeName({ node }: { node: JourneyNode | undefined }) {
  if (node === undefined) return null
  if (node.kind !== 'page') return <span class="muted">{t().behaviour.journeys.kinds[node.kind]}</span>
  return <PageName path={node.pathname} />
}

interface PathFieldsProps {
  depth: number
  from: string
  to: string
  onChange: (own: Record<string, string>) => void
}

/** The number of steps, the page where journeys begin and the page where visits end. */
function PathFields({ depth, from, to, onChange }: PathFieldsProps) {
  const texts = t().behaviour.journeys
  const { data } = useRead('/api/stats/breakdown', {
    ...siteQuery.value,
    range: '30d',
    audience: 'human',
    dimension: 'pathname',
    limit: 30,
  })
  const field = (name: 'from' | 'to', value: string) => (
    <input
      class="small-field"
      aria-label={texts.fields[name]}
      placeholder={texts.fields[name]}
      list="journey-pages"
      value={value}
      onChange={(event) => onChange({ [name]: event.currentTarget.value.trim() })}
    />
  )
  return (
    <>
      <label class="legend">
        {texts.steps}
        <Choose
          class="small-field steps-field"
          value={`${depth}`}
          choices={DEPTHS.map((each) => [`${each}`, `${each}`])}
          onChoose={(steps) => onChange({ depth: steps })}
        />
      </label>
      {field('from', from)}
      {field('to', to)}
      <datalist id="journey-pages">
        {data?.map(({ value }) => (value === undefined ? null : <option key={`${value}`} value={`${value}`} />))}
      </datalist>
    </>
  )
}
