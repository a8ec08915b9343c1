import { ExportMenu } from '../../charts/export-menu.js'
import { TimeChart } from '../../charts/time-chart.js'
import type { DataOf } from '../../client/index.js'
import { BothSides } from '../../parts/both-sides.js'
import { PlainButton } from '../../parts/buttons.js'
import { claimedName } from '../../parts/claimed-name.js'
import { column, named } from '../../parts/columns.js'
import { Fact, Facts } from '../../parts/facts.js'
import { Mark } from '../../parts/marks.js'
import { changeText, RowChange, writeMetric } from '../../parts/numbers.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { PRICES } from '../../parts/prices.js'
import { Warnings } from '../../parts/states.js'
import { type Column, Table } from '../../parts/table.js'
import { SeverityTag } from '../../parts/tags.js'
import { hrefTo, view, viewPath } from '../../state/address.js'
import { type Result, useRead } from '../../state/data.js'
import { formatBytes, formatMoney, formatNumber, formatSeconds } from '../../state/format.js'
import { interval } from '../../state/interval.js'
import { quantity } from '../../state/quantity.js'
import { mixedEnvelope } from '../../state/question.js'
import { hasRole } from '../../state/session.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { later } from '../../texts/later.js'
import { BudgetLink, Letter } from './letter.js'

type Bill = DataOf<'/api/bill'>
type Line = Omit<Bill['lines'][number], 'kind'> & { kind: Bill['lines'][number]['kind'] | 'total' }
const GRANULARITIES = ['minute', 'hour', 'week', 'month'] as const
type Disobedience = Bill['disobedience'][number]

/** Draws the amounts that operators took and gave, or one operator's page. It compares with the time before. */
export default function BillView() {
  const [, operator] = view.value
  const more = { filters: undefined, segment: undefined, compare: 'previous', granularity: interval.value }
  const ask = { ...mixedEnvelope(), ...more }
  return operator === undefined ? <Ledger ask={ask} /> : <Letter key={operator} ask={ask} operator={operator} />
}

function Ledger({ ask }: { ask: Record<string, string | number | undefined> }) {
  const texts = later().bill
  const answer = useRead('/api/bill', ask)
  const { data, meta } = answer
  const answers = [answer]
  return (
    <div class="bill">
      <Sheet title={t().shell.view.bill}>
        <Sentence answers={answers}>{() => data && sentence(data)}</Sentence>
        <Panel
          {...{ title: texts.byOperator, answers, skeleton: 8, empty: data?.lines.length === 0, foot: texts.foot }}
          right={
            <>
              <ExportMenu report="bill" only="agent" picture={false} />
              <PlainButton onClick={() => print()}>{texts.print}</PlainButton>
            </>
          }
        >
          {() =>
            data && (
              <>
                <p class="narrow muted">{givenTaken(data)}</p>
                <Table
                  label={texts.byOperator}
                  rows={withTotal(data)}
                  rowKey={({ kind, operator }) => `${kind} ${operator}`}
                  columns={ledgerColumns(data)}
                />
                <Warnings of={[meta]} />
              </>
            )
          }
        </Panel>
        <Panel title={texts.trend} answers={answers} class="no-print">
          {() => <Trend of={answer} />}
        </Panel>
        <Panel
          {...{ span: 8, title: texts.disobedience, aside: texts.disobedienceAside, answers }}
          {...{ empty: data?.disobedience.length === 0, emptyText: texts.obeyed, foot: texts.disobedienceFoot }}
        >
          {() =>
            data && (
              <Table
                label={texts.disobedience}
                rows={data.disobedience}
                rowKey={({ severity, agent_id, spoofed }) => `${severity} ${agent_id} ${spoofed}`}
                columns={disobedienceColumns(data.currency)}
              />
            )
          }
        </Panel>
        <Panel span={4} title={texts.prices} answers={answers} class="no-print">
          {() => data && <Prices of={data} />}
        </Panel>
      </Sheet>
    </div>
  )
}

/** The lines, and their total as the last row. */
const withTotal = (bill: Bill): Line[] => [...bill.lines, { ...bill, kind: 'total' }]

function sentence({ bytes = 0, origin_seconds, cost, currency, readers = 0, disallowed_cost = 0 }: Bill) {
  const texts = later().bill
  return [
    ...texts.took(
      whenText(),
      <span class="agents">{formatBytes(bytes)}</span>,
      origin_seconds === undefined ? undefined : <span class="agents">{formatSeconds(origin_seconds)}</span>,
    ),
    ...(cost === undefined ? [] : texts.cost(<span class="agents">{formatMoney(cost, currency)}</span>)),
    ...texts.sent(quantity('/api/bill readers', readers, (text) => <span class="people">{text}</span>)),
    ...(cost === undefined
      ? [' ', texts.noPrices]
      : disallowed_cost > 0
        ? texts.disobeyed(<b>{formatMoney(disallowed_cost, currency)}</b>)
        : []),
  ]
}

/** The cost of each bucket, or its bytes if the site has no prices. */
function Trend({ of: { data, meta } }: { of: Result<'/api/bill'> }) {
  if (data === undefined) return null
  const texts = later().bill
  const [metric, unit] =
    data.cost === undefined ? (['bytes', texts.sentBytes] as const) : (['cost', data.currency] as const)
  const buckets = data.buckets.map(({ t: start, partial, [metric]: value }) => ({ t: start, value, partial }))
  const series = [{ of: 'agent', metric, unit, buckets } as const]
  return (
    <TimeChart
      label={texts.trend}
      series={series}
      granularity={GRANULARITIES.find((each) => each === meta?.query.granularity) ?? 'day'}
      recorded={meta?.recorded}
    />
  )
}

/** An amount that is not there, with the reason. */
const missing = (text: string) => <span class="muted small">{text}</span>

const givenTaken = ({ cost }: Bill) =>
  later().bill.givenTaken(<Mark of="human" />, <Mark of="agent" />, cost !== undefined)

function ledgerColumns(bill: Bill): Column<Line>[] {
  const texts = later().bill
  const { currency } = bill
  const priced = bill.cost !== undefined
  const metric = priced ? 'cost' : 'bytes'
  const wide = { right: true, wide: true, width: '88px' } as const
  const most = (field: 'readers' | 'cost' | 'bytes') => Math.max(0, ...bill.lines.map((line) => line[field] ?? 0))
  const taken = (line: Line) => {
    if (line[metric] === undefined) return '–'
    return priced ? formatMoney(line[metric], currency) : formatBytes(line[metric])
  }
  return [
    column(texts.operator, {}, ({ kind, operator = '' }) => {
      if (kind === 'operator')
        return <a href={hrefTo({ path: viewPath('bill', operator) })}>{operator.slice(0, 100)}</a>
      if (kind === 'total') return <b>{texts.total}</b>
      return (
        <>
          {texts.kinds[kind]}
          {kind === 'spoofed' && <span class="muted small line">{texts.toNoOperator}</span>}
        </>
      )
    }),
    // Left out if the site has no goals.
    column(texts.goals, { ...wide, width: '72px' }, ({ goals }) =>
      bill.goals === undefined ? null : goals === undefined ? '–' : formatNumber(goals),
    ),
    {
      ...{ key: 'given', width: '27%', phone: 'below' },
      head: givenTaken(bill),
      cell: (line) => {
        const readers = line.readers === undefined ? texts.notKnown : formatNumber(line.readers)
        if (line.kind === 'total')
          return (
            <b class="bill-total">
              <span class="people">{readers}</span>
              <span>{taken(line)}</span>
            </b>
          )
        return (
          <BothSides
            people={line.readers ?? 0}
            agents={line[metric] ?? 0}
            most={{ people: most('readers'), agents: most(metric) }}
            label={texts.both(readers, taken(line))}
            format={() => readers}
            formatAgents={() => taken(line)}
          />
        )
      },
    },
    column(texts.fetches, wide, ({ fetches = 0 }) => formatNumber(fetches)),
    ...(priced ? [column<Line>(texts.sentBytes, wide, ({ bytes }) => writeMetric('bytes', bytes))] : []),
    column(texts.origin, wide, ({ origin_seconds }) =>
      origin_seconds === undefined ? missing(texts.notKnown) : formatSeconds(origin_seconds),
    ),
    column(texts.perReader, { right: true, width: '124px', phone: 'end' }, (line) =>
      line.cost_per_reader === undefined
        ? line.no_cost_per_reader && missing(texts.noCost[line.no_cost_per_reader])
        : named(texts.perReader, formatMoney(line.cost_per_reader, currency)),
    ),
    column(
      t().parts.change,
      { ...wide, isEmpty: (line) => changeText(metric, line[metric], line.comparison?.[metric]) === '' },
      (line) => <RowChange metric={metric} now={line[metric]} before={line.comparison?.[metric]} />,
    ),
  ]
}

function disobedienceColumns(currency: string): Column<Disobedience>[] {
  const texts = later().bill
  return [
    column(texts.agent, {}, ({ spoofed, ...row }) => (
      <>
        <b>{claimedName(row.name.slice(0, 100), { ...row, verified: spoofed ? false : undefined })}</b>
        {spoofed && <span class="muted small line">{texts.toNoOperator}</span>}
      </>
    )),
    column(texts.verdict, { width: '34%', phone: 'below' }, ({ severity }) => <SeverityTag of={severity} />),
    column(texts.disallowed, { right: true, width: '25%', phone: 'below-end' }, ({ fetches = 0, bytes }) => (
      <>
        {named(texts.disallowed, formatNumber(fetches))}
        {bytes !== undefined && <span class="muted">, {formatBytes(bytes)}</span>}
      </>
    )),
    column(texts.costHead, { right: true, width: '88px', phone: 'end' }, ({ cost }) =>
      cost === undefined
        ? missing(texts.noCost.no_prices)
        : named(texts.costHead, <b>{formatMoney(cost, currency)}</b>),
    ),
  ]
}

/** The site's prices, which have more digits than amounts, with the way to change them. */
function Prices({ of }: { of: Bill }) {
  const texts = later().bill
  const priceOf = (price: number | undefined) =>
    price === undefined ? missing(texts.noPrice) : `${formatNumber(price, 6)} ${of.currency}`
  return (
    <>
      <Facts>
        {PRICES.map((name) => (
          <Fact key={name} name={texts.price[name]}>
            {priceOf(of[name])}
          </Fact>
        ))}
        <Fact name={t().settings.site.currency}>{of.currency}</Fact>
      </Facts>
      <div class="buttons">
        {hasRole('admin') && (
          <a class="more" href={hrefTo({ path: viewPath('settings', 'site') })}>
            {texts.edit}
          </a>
        )}
        <BudgetLink />
      </div>
    </>
  )
}
