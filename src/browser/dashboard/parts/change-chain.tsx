import type { ComponentChildren } from 'preact'
import type { Audience } from '../state/address.js'
import { formatNumber } from '../state/format.js'
import { t } from '../texts/index.js'
import '../styles/changes.css'
import { type ChangedValue, type Changes, changeName, changePath, signed } from './change-text.js'
import { RowName } from './names.js'

type Dimension = Changes['dimensions'][number]
type Totals = { now: number; before: number; difference: number }

interface Bar {
  key: string
  name: ComponentChildren
  kind: 'up' | 'down' | 'rest' | 'total'
  from: number
  to: number
  totals: Totals
}

interface ChainProps {
  of: Audience
  dimension: Dimension
  totals: Totals
  /** Draws only the rows that changed most, without the others. */
  top?: number
  /** A narrow list without the counts before and now. */
  short?: boolean
}

/**
 * Contributions as a chain: each bar begins where the one before it ends, so that all of them end at the total. Filled rose,
 * hollow fell, hatched is everything that is not named, ink is the total.
 */
export function Chain({ of, dimension, totals, top, short = false }: ChainProps) {
  const texts = t().changes
  const { rose, fell, others } = dimension
  const named = top === undefined ? undefined : topRows(dimension, top)
  const isShown = (row: ChangedValue) => named === undefined || named.includes(row)
  let at = 0
  const bar = (key: string, name: ComponentChildren, kind: Bar['kind'], counts: Totals): Bar => {
    const from = kind === 'total' ? 0 : at
    if (kind !== 'total') at += counts.difference
    return { key, name, kind, from, to: kind === 'total' ? counts.difference : at, totals: counts }
  }
  const row = (kind: 'up' | 'down') => (value: ChangedValue) =>
    bar(`${value.value} ${value.spoofed}`, <ValueName dimension={dimension.dimension} of={value} />, kind, value)
  const groups: [title: string, bars: Bar[]][] = [
    [texts.rose, rose.filter(isShown).map(row('up'))],
    [texts.fell, fell.filter(isShown).map(row('down'))],
    ...(named && !short
      ? []
      : [
          [
            texts.allOthers,
            [restOf(named, others, totals)].map((rest) => bar('~', texts.others(rest.values), 'rest', rest)),
          ] as [string, Bar[]],
        ]),
    ...(named ? [] : [['', [bar('=', texts.together, 'total', totals)]] as [string, Bar[]]]),
  ]
  const ends = groups.flatMap(([, bars]) => bars.flatMap(({ from, to }) => [from, to]))
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)]
  const place = (n: number) => ((n - low) / Math.max(1, high - low)) * 100
  return (
    <table class={`chain ${of} ${short ? 'short' : ''}`}>
      <caption class="visually-hidden">{texts.dimension[dimension.dimension] ?? dimension.dimension}</caption>
      <thead class="visually-hidden">
        <tr>
          <th scope="col">{texts.name}</th>
          <th scope="col">{texts.change}</th>
          {!short && <th scope="col">{texts.beforeNow}</th>}
        </tr>
      </thead>
      {groups
        .filter(([, bars]) => bars.length > 0)
        .map(([title, bars]) => (
          <tbody key={title}>
            {title !== '' && !short && (
              <tr class="group">
                <th scope="rowgroup" colSpan={3}>
                  {title}
                </th>
              </tr>
            )}
            {bars.map(({ key, name, kind, from, to, totals: { now, before, difference } }) => (
              <tr key={key} class={kind}>
                <th scope="row">{name}</th>
                <td class="amount">
                  <span class="track" aria-hidden="true">
                    <i class="zero" style={{ left: `${place(0)}%` }} />
                    <i
                      class="run"
                      style={{
                        left: `${place(Math.min(from, to))}%`,
                        width: `${place(Math.max(from, to)) - place(Math.min(from, to))}%`,
                      }}
                    />
                  </span>
                  <b>{signed(difference)}</b>
                </td>
                {!short && <td class="from-to">{texts.fromTo(formatNumber(before), formatNumber(now))}</td>}
              </tr>
            ))}
          </tbody>
        ))}
    </table>
  )
}

/** The rows of a dimension that changed most, whichever way. */
export const topRows = ({ rose, fell }: Dimension, most: number): ChangedValue[] =>
  [...rose, ...fell].toSorted((a, b) => Math.abs(b.difference) - Math.abs(a.difference)).slice(0, most)

/** Everything but the named rows. */
function restOf(named: readonly ChangedValue[] | undefined, others: Dimension['others'], totals: Totals) {
  if (named === undefined) return others
  const sum = (count: 'now' | 'before' | 'difference') =>
    totals[count] - named.reduce((all, row) => all + row[count], 0)
  return { values: others.values, now: sum('now'), before: sum('before'), difference: sum('difference') }
}

/** The name filters, the arrow opens. */
function ValueName({ dimension, of }: { dimension: string; of: ChangedValue }) {
  return (
    <RowName
      label={changeName(dimension, of)}
      filter={of.value === undefined ? undefined : [dimension, of.value]}
      to={changePath(dimension, of)}
    />
  )
}
