import type { ComponentProps } from 'preact'
import { Paging } from './paging.js'
import { Panel } from './panel.js'
import { Warnings } from './states.js'
import { type Column, Table } from './table.js'

type PanelProps = ComponentProps<typeof Panel>
type Meta = NonNullable<ComponentProps<typeof Warnings>['of'][number]>

interface ListPanelProps<Row> extends Omit<PanelProps, 'answers' | 'children' | 'title'> {
  title: string
  answer: NonNullable<PanelProps['answers']>[number] & {
    data?: readonly Row[]
    meta?: (Meta & { total?: number | undefined }) | undefined
  }
  columns: readonly Column<Row>[]
  rowKey: (row: Row) => string
  /** Rows of one page of the list. */
  limit: number
}

/** A panel with one list: its table, its pages, and the warnings of its answer. */
export function ListPanel<Row>({ answer, columns, rowKey, limit, ...panel }: ListPanelProps<Row>) {
  const rows = answer.data ?? []
  return (
    <Panel empty={rows.length === 0} {...panel} answers={[answer]}>
      {() => (
        <>
          <Table label={panel.title} rows={rows} rowKey={rowKey} columns={columns} />
          <Paging total={answer.meta?.total} limit={limit} />
          <Warnings of={[answer.meta]} />
        </>
      )}
    </Panel>
  )
}
