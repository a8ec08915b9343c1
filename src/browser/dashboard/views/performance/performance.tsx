import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { Choices } from '../../parts/buttons.js'
import { ListPanel } from '../../parts/list-panel.js'
import { RowName, ViewLink } from '../../parts/names.js'
import { changeText, RowChange } from '../../parts/numbers.js'
import { pageNumber } from '../../parts/paging.js'
import { Panel, Sentence } from '../../parts/panel.js'
import { PeopleOnly } from '../../parts/people-only.js'
import { Lacking } from '../../parts/states.js'
import { go, place, viewPath } from '../../state/address.js'
import { formatCountry, formatMilliseconds, formatNumber } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { useOne } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import '../../styles/behaviour.css'

const LIMIT = 50
const DIMENSIONS = ['pathname', 'country', 'browser', 'device_type'] as const
type Row = NonNullable<DataOf<'/api/stats/performance'>['rows']>[number]

const chosen = <T extends string>(values: readonly T[], text: string | undefined, fallback: T): T =>
  values.find((value) => value === text) ?? fallback

/** How fast pages were for the people who read them, against Google's thresholds. */
export default function Performance() {
  const { shell, behaviour } = t()
  return (
    <PeopleOnly title={shell.view.performance} why={behaviour.performance.agents} instead={['agents', 'coverage']}>
      {() => <Vitals />}
    </PeopleOnly>
  )
}

export const formatVital = ({ name }: Vital, value: number): string =>
  name === 'cls' ? formatNumber(value, 3) : formatMilliseconds(Math.round(value))

function Vitals() {
  const texts = t().behaviour.performance
  const dimension = chosen(DIMENSIONS, place.value.own.dimension, 'pathname')
  const answer = useOne('/api/stats/performance', 'human', { dimension, limit: LIMIT, page: pageNumber() })
  const { data } = answer
  const measured = VITALS.filter(({ name }) => data?.[name] !== undefined)
  return (
    <>
      <Sentence answers={[answer]}>
        {() => {
          const [lcp] = VITALS
          const lcpAnswer = data?.lcp
          if (!lcp || !lcpAnswer) return texts.nothing(whenText())
          const good = measured.filter(({ name }) => data?.[name]?.rating === 'good').length
          return texts.sentence(
            whenText(),
            formatVital(lcp, lcpAnswer.p75),
            texts.ratings[lcpAnswer.rating],
            good,
            measured.length,
          )
        }}
      </Sentence>
      <Panel
        title={texts.vitals}
        aside={texts.aside}
        answers={[answer]}
        empty={measured.length === 0}
        emptyText={
          <>
            {texts.empty} <ViewLink to={['settings', 'install']}>{texts.install}</ViewLink>
          </>
        }
        right={<ExportMenu report="performance" only="human" more={{ dimension }} picture={false} />}
        foot={texts.foot}
      >
        {() => (
          <>
            <Lacking of="human" />
            <ul class="vitals">
              {VITALS.map((vital) => (
                <ZoneScale
                  key={vital.name}
                  vital={vital}
                  figures={data?.[vital.name]}
                  before={data?.comparison?.[vital.name]?.p75}
                />
              ))}
            </ul>
          </>
        )}
      </Panel>
      {measured.length > 0 && <ByDimension answer={answer} dimension={dimension} />}
    </>
  )
}

/** One vital: p75 in words and figures, and the three percentiles on a scale with the zones good, fair and poor. */
function ZoneScale({
  vital,
  figures,
  before,
}: {
  vital: Vital
  figures: Figures | undefined
  before: number | undefined
}) {
  const texts = t().behaviour.performance
  const { name, good, poor } = vital
  return (
    <li>
      <h3>
        <abbr title={texts.names[name]}>{name.toUpperCase()}</abbr>
        <span class="muted small">{texts.names[name]}</span>
      </h3>
      {figures === undefined ? (
        <p class="muted">{texts.notMeasured}</p>
      ) : (
        <>
          <p class="vital-value">
            <b>{formatVital(vital, figures.p75)}</b> <Rating of={figures.rating} />{' '}
            {before !== undefined && before > 0 && (
              <span class="muted small no-wrap">
                {changeText(name, figures.p75, before)} {t().parts.from(formatVital(vital, before))}
              </span>
            )}
          </p>
          <svg class="chart" height="36" role="img">
            <title>{texts.scale(PERCENTILES.map((at) => `${at} ${formatVital(vital, figures[at])}`).join(', '))}</title>
            {[0, 1, 2].map((zone) => (
              <rect key={zone} x={`${zone * 33.4}%`} width="33%" y="6" height="8" rx="2" class={`zone zone-${zone}`} />
            ))}
            {PERCENTILES.map((at) => (
              <svg key={at} class="on-scale" x={`${2 + onScale(vital, figures[at]) * 96}%`} y="10">
                {at === 'p75' ? (
                  <path d="M0 -8l5 8-5 8-5-8z" fill="var(--people)" stroke="var(--panel)" stroke-width="1.5" />
                ) : (
                  <circle r="3.5" fill="var(--panel)" stroke="var(--people)" stroke-width="1.5" />
                )}
              </svg>
            ))}
            <text x="33.3%" y="32" text-anchor="middle">
              {formatVital(vital, good)}
            </text>
            <text x="66.7%" y="32" text-anchor="middle">
              {formatVital(vital, poor)}
            </text>
          </svg>
          <p class="muted small percentiles">
            <span>p50 {formatVital(vital, figures.p50)}</span>
            <span>p95 {formatVital(vital, figures.p95)}</span>
            <span>{quantity('/api/stats/performance samples', figures.samples).text}</span>
          </p>
        </>
      )}
    </li>
  )
}

/** The marks of ratings: the poorer, the heavier, because a poor vital is to be found first. */
const SHAPES: Record<Figures['rating'], string> = { good: '○', 'needs-improvement': '◐', poor: '●' }

const Rating = ({ of }: { of: Figures['rating'] }) => (
  <span class="muted small">
    <span aria-hidden="true">{SHAPES[of]}</span> {t().behaviour.performance.ratings[of]}
  </span>
)

/** The vitals by page, country, browser or device. Long because of its two rows of choices. */
function ByDimension({
  answer,
  dimension,
}: {
  answer: ReturnType<typeof useOne<'/api/stats/performance'>>
  dimension: (typeof DIMENSIONS)[number]
}) {
  const { behaviour, parts } = t()
  const texts = behaviour.performance
  const percentile = chosen(PERCENTILES, place.value.own.at, 'p75')
  const rows = answer.data?.rows ?? []
  const choose = (own: Record<string, string>) => go({ own: { ...place.value.own, page: '', ...own } }, true)
  const label = ({ value }: Row): string =>
    value === undefined ? parts.unknown : dimension === 'country' ? formatCountry(`${value}`) : `${value}`
  return (
    <ListPanel
      title={texts.by[dimension]}
      answer={answer}
      right={
        <>
          <Choices
            values={DIMENSIONS}
            now={dimension}
            nameOf={(each) => texts.dimensions[each]}
            onChoose={(each) => choose({ dimension: each })}
          />
          <Choices
            values={PERCENTILES}
            now={percentile}
            nameOf={(each) => each}
            onChoose={(each) => choose({ at: each })}
          />
        </>
      }
      foot={texts.legend}
      rows={rows}
      rowKey={({ value }) => `${value}`}
      columns={[
        {
          key: 'value',
          head: texts.dimensions[dimension],
          cell: (row) => (
            <RowName
              label={label(row)}
              {...(row.value === undefined ? {} : { filter: [dimension, row.value] })}
              {...(dimension === 'pathname' ? { to: viewPath('pages', `${row.value}`) } : {})}
            />
          ),
        },
        ...VITALS.map((vital, i) => ({
          key: vital.name,
          head: <abbr title={texts.names[vital.name]}>{vital.name.toUpperCase()}</abbr>,
          right: true,
          // The first three are the core vitals.
          rare: i > 2,
          width: '92px',
          cell: (row: Row) => <Cell vital={vital} figures={row[vital.name]} at={percentile} />,
        })),
        {
          key: 'change',
          head: texts.changeOf(LEAD.name.toUpperCase()),
          right: true,
          phone: 'below-end',
          width: '96px',
          cell: (row) => <RowChange metric={LEAD.name} {...leadChange(row, percentile)} />,
          isEmpty: (row) => leadChange(row, percentile).before === undefined,
        },
        {
          key: 'vitals',
          head: texts.vitals,
          phone: 'below',
          phoneOnly: true,
          cell: (row) => (
            <span class="vital-line">
              {VITALS.map((vital) => (
                <span key={vital.name} class="no-wrap">
                  <span class="muted">{vital.name.toUpperCase()}</span>{' '}
                  <Cell vital={vital} figures={row[vital.name]} at={percentile} />
                </span>
              ))}
            </span>
          ),
        },
        {
          key: 'samples',
          head: texts.samplesHead,
          right: true,
          phone: 'end',
          width: '92px',
          cell: (row) => <span class="muted">{formatNumber(row.lcp?.samples ?? row.ttfb?.samples ?? 0)}</span>,
        },
      ]}
      limit={LIMIT}
    />
  )
}

function Cell({ vital, figures, at }: { vital: Vital; figures: Figures | undefined; at: Percentile }) {
  if (!figures) return <span class="muted">–</span>
  const rating = rate(vital, figures[at])
  const words = t().behaviour.performance.ratings[rating]
  return (
    <span title={words}>
      {formatVital(vital, figures[at])} <span aria-hidden="true">{SHAPES[rating]}</span>
      <span class="visually-hidden">{words}</span>
    </span>
  )
}

/** A Web Vital with web.dev's bounds: at most `good` is good, above `poor` is poor. */
interface Vital {
  name: 'lcp' | 'inp' | 'cls' | 'fcp' | 'ttfb'
  good: number
  poor: number
}

/** Google's thresholds for the 75th percentile, in milliseconds; CLS has no unit. */
const VITALS: readonly [Vital, ...Vital[]] = [
  { name: 'lcp', good: 2_500, poor: 4_000 },
  { name: 'inp', good: 200, poor: 500 },
  { name: 'cls', good: 0.1, poor: 0.25 },
  { name: 'fcp', good: 1_800, poor: 3_000 },
  { name: 'ttfb', good: 800, poor: 1_800 },
]

/** The vital by which rows are compared: all of them would be ten numbers a row. */
const LEAD = VITALS[0]

const leadChange = (row: Row, at: Percentile) => ({
  now: row[LEAD.name]?.[at],
  before: row.comparison?.[LEAD.name]?.[at],
})

interface Figures {
  p50: number
  p75: number
  p95: number
  samples: number
  rating: 'good' | 'needs-improvement' | 'poor'
}

const PERCENTILES = ['p50', 'p75', 'p95'] as const
type Percentile = (typeof PERCENTILES)[number]

const rate = ({ good, poor }: Vital, value: number): Figures['rating'] =>
  value <= good ? 'good' : value <= poor ? 'needs-improvement' : 'poor'

/** Returns where a value lies on a scale of three zones of equal width, 0 to 1. The last zone ends at three times `poor`. */
function onScale({ good, poor }: Vital, value: number): number {
  if (value <= good) return value / good / 3
  if (value <= poor) return (1 + (value - good) / (poor - good)) / 3
  return Math.min(1, (2 + (value - poor) / (2 * poor)) / 3)
}
