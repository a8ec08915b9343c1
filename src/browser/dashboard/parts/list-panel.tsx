import type { ComponentChildren, ComponentProps } from 'preact'
import type { Audience } from '../state/address.js'
import { Ranked } from './lists.js'
import { type MeasuredRow, Measures } from './measures.js'
import { metricOf } from './numbers.js'
import { Paging } from './paging.js'
import { Panel } from './panel.js'
import { Lacking, Warnings } from './states.js'
import { type Column, Table } from './table.js'

type PanelProps = ComponentProps<typeof Panel>
type Meta = NonNullable<ComponentProps<typeof Warnings>['of'][number]>

interface OneListProps extends Omit<PanelProps, 'answers' | 'children' | 'title'> {
  title: string
  answer: NonNullable<PanelProps['answers']>[number]
  /** The readership whose lack of a filter on screen is said above the list. */
  lacking?: Audience
  /** Stands below the list. */
  below?: ComponentChildren
}

/** A panel that draws one answer. */
const OneList = ({ answer, lacking, below, list, ...panel }: OneListProps & { list: () => ComponentChildren }) => (
  <Panel {...panel} answers={[answer]}>
    {() => (
      <>
        {lacking && <Lacking of={lacking} />}
        {list()}
        {below}
      </>
    )}
  </Panel>
)

interface ListPanelProps<Row> extends OneListProps {
  answer: OneListProps['answer'] & { meta?: (Meta & { total?: number | undefined }) | undefined }
  rows: readonly Row[]
  columns: readonly Column<Row>[]
  rowKey: (row: Row) => string
  /** Rows of one page of the list. */
  limit: number
}

/** A panel with one list: its table, its pages, and the warnings of its answer. */
export function ListPanel<Row>({ rows, columns, rowKey, limit, below, ...panel }: ListPanelProps<Row>) {
  const { meta } = panel.answer
  return (
    <OneList
      empty={rows.length === 0}
      {...panel}
      list={() => <Table label={panel.title} rows={rows} rowKey={rowKey} columns={columns} />}
      below={
        <>
          {below}
          <Paging total={meta?.total} limit={limit} />
          <Warnings of={[meta]} />
        </>
      }
    />
  )
}

/** A panel with names of one readership, each with a number and a bar. */
export const RankedPanel = ({ rows, metric, of, ...panel }: OneListProps & ComponentProps<typeof Ranked>) => (
  <OneList empty={rows.length === 0} {...panel} list={() => <Ranked of={of} metric={metric} rows={rows} />} />
)

/** A panel with names from people's rows, each with several numbers, in the order of the first. */
export const MeasuresPanel = ({
  rows,
  head,
  metrics,
  ...panel
}: OneListProps & Pick<ComponentProps<typeof Measures>, 'head' | 'rows' | 'metrics'>) => (
  <OneList
    empty={rows.length === 0}
    {...panel}
    list={() => (
      <Measures of="human" label={panel.title} head={head} rows={inOrder(rows, metrics[0])} metrics={metrics} />
    )}
  />
)

/** The API orders rows by people; a list has the order of the number that its bars show. */
const inOrder = (rows: readonly MeasuredRow[], metric = ''): MeasuredRow[] =>
  rows.toSorted((a, b) => (metricOf(b.values, metric) ?? 0) - (metricOf(a.values, metric) ?? 0))
