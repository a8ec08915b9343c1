import { useEffect, useState } from 'preact/hooks'
import { TableButton } from '../parts/buttons.js'
import { Choose } from '../parts/fields.js'
import { Mark } from '../parts/marks.js'
import { formatMetric, metricName } from '../parts/numbers.js'
import { Panel } from '../parts/panel.js'
import { Lacking, Warnings } from '../parts/states.js'
import { Table } from '../parts/table.js'
import { type Audience, go, place } from '../state/address.js'
import type { Recorded } from '../state/data.js'
import { formatFullInstant, formatLongDay, type Granularity } from '../state/format.js'
import { interval, intervals } from '../state/interval.js'
import { audiences, shareSlug, usePair } from '../state/question.js'
import { onKey } from '../state/view-keys.js'
import { type Window, windowName, windowOf } from '../state/window.js'
import { t } from '../texts/index.js'
import type { BandSeries } from './band.js'
import { ExportMenu } from './export-menu.js'
import { NoteStrip } from './note-strip.js'
import { type Note, useNotes } from './notes.js'
import { TimeChart } from './time-chart.js'
import { WriteNote } from './write-note.js'

interface ReadershipChartProps {
  label: string
  metrics: Readonly<Record<Audience, string>>
  /** Further parameters of the read, such as filters of one page. */
  more?: Readonly<Record<string, string>>
  span?: 7 | 8 | 12
  title?: string
  /** The one readership that has these metrics, for what people or agents alone do. */
  only?: Audience
}

/** The time chart of the readerships on screen, with notes, as a chart or as a table. */
export function ReadershipChart({ label, metrics, more: given = {}, span = 12, title, only }: ReadershipChartProps) {
  const { parts } = t()
  const sides = only === undefined ? audiences.value : [only]
  const more = interval.value === undefined ? given : { ...given, granularity: interval.value }
  const answers = usePair('/api/stats/timeseries', (of) =>
    sides.includes(of) ? { ...more, metric: metrics[of] } : undefined,
  )
  const [asTable, setAsTable] = useState(false)
  const [openNote, setOpenNote] = useState<number>()
  const [writing, setWriting] = useState<{ note?: Note }>()
  const drawn = sides.filter((of) => answers[of].data)
  const first = drawn[0] && answers[drawn[0]]
  const window = windowOf(first?.meta?.query)
  const notes = useNotes(window)
  useEffect(() => onKey('t', () => setAsTable((is) => !is)), [])
  useEffect(() => (shareSlug.value === undefined ? onKey('n', () => setWriting({})) : undefined), [])
  const granularity = first?.data?.granularity ?? 'day'
  const series = drawn.map((of) => ({
    of,
    metric: metrics[of],
    unit: parts.unit(metricName(metrics[of])),
    buckets: answers[of].data?.buckets ?? [],
    comparison: answers[of].data?.comparison,
  }))
  const lacking = sides.map((of) => <Lacking key={of} of={of} />)
  const note = notes.find(({ id }) => id === openNote)
  return (
    <Panel
      span={span}
      title={title ?? label}
      hideTitle={title === undefined}
      answers={sides.map((of) => answers[of])}
      skeleton={10}
      right={
        <>
          <Legend
            sides={sides}
            metrics={metrics}
            isFixed={only !== undefined}
            series={series}
            hasGaps={isHatched(first?.meta?.recorded, window)}
          />
          <IntervalField now={granularity} />
          <TableButton asTable={asTable} onTurn={setAsTable} />
          <ExportMenu report="timeseries" metrics={metrics} more={more} {...(only ? { only } : {})} />
        </>
      }
    >
      {() => (
        <>
          {lacking}
          {asTable ? (
            <BucketTable series={series} granularity={granularity} label={label} />
          ) : (
            <TimeChart
              label={`${label}, ${windowName()}`}
              series={series}
              granularity={granularity}
              recorded={first?.meta?.recorded}
              notes={notes}
              openNote={openNote}
              onNote={setOpenNote}
            />
          )}
          {note && <NoteStrip note={note} among={notes} onOpen={setOpenNote} onChange={() => setWriting({ note })} />}
          {writing && <WriteNote {...writing} onClose={() => setWriting(undefined)} />}
          <Warnings of={drawn.map((of) => answers[of].meta)} />
        </>
      )}
    </Panel>
  )
}

interface LegendProps {
  sides: readonly Audience[]
  metrics: Readonly<Record<Audience, string>>
  /** The readership cannot be chosen. */
  isFixed: boolean
  series: readonly BandSeries[]
  hasGaps: boolean
}

/** Names the lines of the chart; a readership's button leaves the other one out. */
function Legend({ sides, metrics, isFixed, series, hasGaps }: LegendProps) {
  const hasComparison = series.some(({ comparison }) => comparison?.some(({ value }) => value !== undefined))
  const { show, compare } = place.value
  return (
    <span class="legend">
      {sides.map((of) => (
        <button
          key={of}
          type="button"
          disabled={isFixed}
          aria-pressed={show === of}
          onClick={() => go({ show: show === of ? 'both' : of })}
        >
          <Mark of={of} />
          {metricName(metrics[of])}
        </button>
      ))}
      {hasComparison && (
        <span>
          <span class="key-dash" />
          {t().shell.compare[compare]}
        </span>
      )}
      {hasGaps && (
        <span>
          <span class="key-hatch" />
          {t().parts.notRecorded}
        </span>
      )}
    </span>
  )
}

/** Whether enough of the window is hatched to be seen. */
function isHatched(recorded: Recorded | undefined, window: Window | undefined): boolean {
  if (!recorded || !window) return false
  const [start, end] = [Date.parse(window.start), Date.parse(window.end)]
  const before = recorded.since === undefined ? 0 : Date.parse(recorded.since) - start
  return before > (end - start) / 100 || (recorded.gaps ?? []).length > 0
}

/** The length of a bucket, which the reader may change where the window leaves a choice. */
function IntervalField({ now }: { now: Granularity }) {
  const { parts } = t()
  if (intervals.value.length < 2) return <span class="muted small wide">{parts.granularity[now]}</span>
  return (
    <Choose
      class="interval"
      aria-label={parts.interval}
      value={now}
      choices={intervals.value.map((each) => [each, parts.granularity[each]])}
      onChoose={(length) => go({ own: { ...place.value.own, interval: length } }, true)}
    />
  )
}

interface BucketTableProps {
  label: string
  series: readonly BandSeries[]
  granularity: Granularity
}

/** The buckets of a time chart as a table. */
function BucketTable({ label, series, granularity }: BucketTableProps) {
  const { parts } = t()
  const buckets = series[0]?.buckets ?? []
  const write = (metric: string, value: number | undefined) =>
    value === undefined ? <span class="muted">{parts.notRecorded}</span> : formatMetric(metric, value)
  return (
    <Table
      label={label}
      rowKey={({ t: start }) => start}
      rows={buckets.map(({ t: start }, i) => ({ t: start, i }))}
      columns={[
        {
          key: 't',
          head: parts.granularity[granularity],
          cell: ({ t: start }) =>
            granularity === 'minute' || granularity === 'hour' ? formatFullInstant(start) : formatLongDay(start),
        },
        ...series.flatMap(({ of, metric, buckets: own, comparison }) => [
          {
            key: of,
            head: metricName(metric),
            right: true,
            cell: ({ i }: { i: number }) => write(metric, own[i]?.value),
          },
          ...(comparison
            ? [
                {
                  key: `${of}-before`,
                  head: parts.previous,
                  right: true,
                  cell: ({ i }: { i: number }) => write(metric, comparison[i]?.value),
                },
              ]
            : []),
        ]),
      ]}
    />
  )
}
