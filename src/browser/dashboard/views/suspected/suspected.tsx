import { ExportMenu } from '../../charts/export-menu.js'
import { SparkBars } from '../../charts/spark-bars.js'
import type { DataOf } from '../../client/index.js'
import { RowName } from '../../parts/names.js'
import { kindOf, metricName, metricOf, RowChange, writeMetric } from '../../parts/numbers.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { Warnings } from '../../parts/states.js'
import { type Column, Table } from '../../parts/table.js'
import { go, place } from '../../state/address.js'
import { formatCountry, formatNumber, formatShare } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { useOne } from '../../state/question.js'
import { t } from '../../texts/index.js'
import { later } from '../../texts/later.js'

type Data = DataOf<'/api/stats/suspected'>
type Row = Data['pages'][number]
type Signal = Data['signals'][number]

/** Asks about all people in the window, whatever the switch says. */
const ALL = { compare: undefined, suspected: undefined }

/** The view of agents among people: how many views are suspected, what speaks against them, and where they are. */
export default function SuspectedView() {
  const { shell } = t()
  const texts = later().suspected
  const answer = useOne('/api/stats/suspected', 'human', ALL)
  const { data } = answer
  return (
    <Sheet title={shell.view.suspected}>
      <Sentence answers={[answer]}>{() => data && sentence(data)}</Sentence>
      <WithAndWithout />
      <Panel
        title={texts.overTime}
        right={<ExportMenu report="suspected" only="human" picture={false} />}
        answers={[answer]}
        skeleton={1}
      >
        {() => (
          <SparkBars
            label={texts.overTime}
            buckets={(data?.buckets ?? []).map(({ suspected_pageviews: value, ...bucket }) =>
              value === undefined ? bucket : { ...bucket, value },
            )}
          />
        )}
      </Panel>
      {LISTS.map(({ name, dimension, label }) => (
        <Panel
          key={name}
          span={4}
          title={texts[name]}
          answers={[answer]}
          empty={data?.[name].length === 0}
          emptyText={texts.none}
        >
          {() => (
            <Table
              label={texts[name]}
              rows={data?.[name] ?? []}
              rowKey={({ value = '' }) => value}
              columns={listColumns(texts[name], dimension, label)}
            />
          )}
        </Panel>
      ))}
      <Panel title={texts.signals} answers={[answer]}>
        {() => (
          <Table
            label={texts.signals}
            rows={data?.signals ?? []}
            rowKey={({ signal }) => signal}
            columns={signalColumns()}
          />
        )}
      </Panel>
      <div class="cell">
        <p class="foot">{texts.foot}</p>
        <Warnings of={[answer.meta]} />
      </div>
    </Sheet>
  )
}

const LISTS = [
  { name: 'pages', dimension: 'pathname', label: (value: string) => value },
  { name: 'sources', dimension: 'source', label: (value: string) => value },
  { name: 'countries', dimension: 'country', label: (value: string) => formatCountry(value) },
] as const

function sentence({ suspected_pageviews: views = 0, suspected_sessions: visits = 0, share }: Data): readonly unknown[] {
  const texts = later().suspected
  if (share === undefined) return [texts.noViews]
  if (views === 0) return [texts.none]
  return texts.sentence(
    quantity('/api/stats/suspected suspected_pageviews', views),
    formatShare(share),
    quantity('/api/stats/suspected suspected_sessions', visits),
  )
}

/** People's numbers with suspected visits beside those without, and the switch that leaves them out in all views. */
function WithAndWithout() {
  const texts = later().suspected
  const all = useOne('/api/stats/overview', 'human', ALL)
  const without = useOne('/api/stats/overview', 'human', { ...ALL, suspected: 'exclude' })
  const { suspected } = place.value
  const columns: Column<string>[] = [
    { key: 'metric', head: texts.metric, cell: metricName },
    ...(
      [
        ['all', all],
        ['without', without],
      ] as const
    ).map(([key, { data }]) => ({
      ...{ key, head: texts[key], right: true, width: '22%' },
      cell: (metric: string) => writeExactly(metric, metricOf(data, metric)),
    })),
    {
      ...{ key: 'change', head: t().parts.change, right: true, width: '22%' },
      cell: (metric) => (
        <RowChange metric={metric} now={metricOf(without.data, metric)} before={metricOf(all.data, metric)} />
      ),
    },
  ]
  return (
    <Panel title={texts.both} answers={[all, without]}>
      {() => (
        <>
          <Table label={texts.both} rows={METRICS} rowKey={(metric) => metric} columns={columns} />
          <label class="check">
            <input
              type="checkbox"
              role="switch"
              checked={suspected === 'exclude'}
              onChange={() => go({ suspected: suspected === 'exclude' ? undefined : 'exclude' })}
            />
            <span>{texts.switch}</span>
          </label>
        </>
      )}
    </Panel>
  )
}

const METRICS = ['visitors', 'sessions', 'pageviews', 'views_per_session', 'bounce', 'duration']

/** Writes counts in full: two that differ by little are compared. */
const writeExactly = (metric: string, value: number | undefined): string =>
  value !== undefined && kindOf(metric) === 'count' ? formatNumber(value) : writeMetric(metric, value)

function signalColumns(): Column<Signal>[] {
  const texts = later().suspected
  return [
    {
      key: 'signal',
      head: texts.signal,
      cell: ({ signal, family, meaning }) => (
        <>
          <span class="muted">{texts.family[family]}:</span> {texts.meaning[signal] ?? meaning}
        </>
      ),
    },
    {
      ...{ key: 'spoke', head: texts.spoke, right: true, width: '12%', wide: true },
      cell: ({ pageviews }) => writeExactly('pageviews', pageviews),
    },
    {
      ...{ key: 'suspected', head: texts.suspectedViews, right: true, width: '12%' },
      cell: ({ suspected_pageviews: views }) => writeExactly('pageviews', views),
    },
  ]
}

const listColumns = (head: string, dimension: string, label: (value: string) => string): Column<Row>[] => [
  {
    key: 'name',
    head,
    cell: ({ value }) =>
      value === undefined ? (
        <span class="muted">{later().suspected.noValue}</span>
      ) : (
        <RowName label={label(value)} filter={[dimension, value]} to={undefined} />
      ),
  },
  {
    ...{ key: 'views', head: later().suspected.suspectedViews, right: true, width: '30%' },
    cell: ({ suspected_pageviews: views }) => formatNumber(views),
  },
  {
    ...{ key: 'share', head: later().suspected.share, right: true, width: '22%' },
    cell: ({ share }) => formatShare(share),
  },
]
