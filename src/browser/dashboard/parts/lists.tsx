import type { ComponentChildren, ComponentProps } from 'preact'
import type { Audience } from '../state/address.js'
import { audiences } from '../state/question.js'
import { t } from '../texts/index.js'
import { Mark } from './marks.js'
import { RowName } from './names.js'
import { formatMetric, metricName, RowChange, writeMetric } from './numbers.js'

export interface RankedRow {
  /** The label, if it is absent. */
  key?: string
  label: string
  value: number | undefined
  /** The value in the time that is compared with. */
  before?: number | undefined
  /** Words after the name. */
  aside?: ComponentChildren
  filter?: readonly [dimension: string, value: string | number | boolean] | undefined
  to?: readonly string[] | undefined
}

/** A thin bar of a share of the width. SVG, because the page's CSP forbids style attributes in markup. */
export const Bar = ({ share, of, mirrored }: { share: number; of: Audience; mirrored?: boolean }) => {
  const width = share > 0 ? Math.max(1.5, share * 100) : 0
  return (
    <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
      <rect
        x={mirrored ? 100 - width : 0}
        width={width}
        height="1"
        fill={of === 'human' ? 'var(--people)' : 'var(--agents)'}
      />
    </svg>
  )
}

/** Names with a number and a thin bar, of one readership. */
export function Ranked({ rows, metric, of }: { rows: readonly RankedRow[]; metric: string; of: Audience }) {
  const most = Math.max(...rows.map(({ value }) => value ?? 0), 1)
  return (
    <ul class="ranked">
      {rows.map(({ label, key = label, value, before, aside, filter, to }) => (
        <li key={key}>
          <span class="row-name">
            <RowName label={label} filter={filter} to={to} />
            {aside && <span class="muted small">{aside}</span>}
          </span>
          <span class="amount">
            <RowChange metric={metric} now={value} before={before} />
            <span>{value === undefined ? '' : formatMetric(metric, value)}</span>
          </span>
          <Bar share={(value ?? 0) / most} of={of} />
        </li>
      ))}
    </ul>
  )
}

/** A number of a butterfly's side, with its change below it. */
export const Amount = (props: ComponentProps<typeof RowChange>) => (
  <b>
    {writeMetric(props.metric, props.now)}
    <RowChange {...props} />
  </b>
)

export interface ButterflyRow {
  key: string
  label: string
  human: number | undefined
  agent: number | undefined
  /** The numbers in the time that is compared with. */
  before?: Readonly<Partial<Record<Audience, number | undefined>>>
  tag?: ComponentChildren
  filter?: readonly [dimension: string, value: string | number | boolean] | undefined
  to?: readonly string[] | undefined
}

interface ButterflyProps {
  /** The heading of the names. */
  head: string
  rows: readonly ButterflyRow[]
  metrics: Readonly<Record<Audience, string>>
  /** The heading of the column of tags, if there is one. */
  tagHead?: string
  /** The rows by which bars are scaled, if these are a part of a longer list. */
  scaledBy?: readonly ButterflyRow[]
}

/** One row per name: people's bar to the left, agents' to the right, each scaled to its own maximum. */
export function Butterfly({ head, rows, metrics, tagHead, scaledBy = rows }: ButterflyProps) {
  const sides = audiences.value
  const most = {
    human: Math.max(...scaledBy.map((row) => row.human ?? 0), 1),
    agent: Math.max(...scaledBy.map((row) => row.agent ?? 0), 1),
  }
  return (
    <table class="butterfly fixed">
      <thead>
        <tr>
          <th scope="col">{head}</th>
          {tagHead !== undefined && (
            <th scope="col" class="wide">
              {tagHead}
            </th>
          )}
          {sides.map((side) => (
            <th scope="col" class={side} key={side} title={t().parts.ownScale}>
              <span>
                {side === 'agent' && <Mark of={side} />}
                {metricName(metrics[side])}
                {side === 'human' && <Mark of={side} />}
              </span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.key}>
            <th scope="row">
              <RowName label={row.label} filter={row.filter} to={row.to} />
            </th>
            {tagHead !== undefined && <td class="wide">{row.tag}</td>}
            {sides.map((side) => (
              <td class={side} key={side}>
                <span class="side">
                  {side === 'human' && <Amount metric={metrics.human} now={row.human} before={row.before?.human} />}
                  <Bar share={(row[side] ?? 0) / most[side]} of={side} mirrored={side === 'human'} />
                  {side === 'agent' && <Amount metric={metrics.agent} now={row.agent} before={row.before?.agent} />}
                </span>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Joins rows of both readerships by a key, the longer side's order first; at most `limit` rows. */
export function joinSides<H, A>(
  human: readonly H[] | undefined,
  agent: readonly A[] | undefined,
  keyOf: { human: (row: H) => string; agent: (row: A) => string },
  limit: number,
): { key: string; human?: H; agent?: A }[] {
  const joined = new Map<string, { key: string; human?: H; agent?: A }>()
  const lists = [...(human ?? [])].map((row) => ({ key: keyOf.human(row), human: row }))
  const others = [...(agent ?? [])].map((row) => ({ key: keyOf.agent(row), agent: row }))
  // In turns, so that the first rows of either side are among the first of both.
  for (let i = 0; i < Math.max(lists.length, others.length); i++)
    for (const part of [lists[i], others[i]]) if (part) joined.set(part.key, { ...joined.get(part.key), ...part })
  return [...joined.values()].slice(0, limit)
}
