import { useState } from 'preact/hooks'
import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { PlainButton } from '../../parts/buttons.js'
import { claimedName } from '../../parts/claimed-name.js'
import { column } from '../../parts/columns.js'
import { Dialog, Form, toast } from '../../parts/dialogs.js'
import { Fact, Facts } from '../../parts/facts.js'
import { Input, textOf } from '../../parts/fields.js'
import { Mark } from '../../parts/marks.js'
import { changeText, RowChange } from '../../parts/numbers.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { Warnings } from '../../parts/states.js'
import { type Column, Table } from '../../parts/table.js'
import { SeverityTag } from '../../parts/tags.js'
import { hrefTo, view, viewPath } from '../../state/address.js'
import { client, send } from '../../state/client.js'
import { forget, useRead } from '../../state/data.js'
import { formatBytes, formatNumber, formatSeconds } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { mixedEnvelope } from '../../state/question.js'
import { hasRole, site } from '../../state/session.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { later } from '../../texts/later.js'
import { Letter } from './letter.js'
import { moneyText } from './money.js'

type Bill = DataOf<'/api/bill'>
type Line = Omit<Bill['lines'][number], 'kind'> & { kind: Bill['lines'][number]['kind'] | 'total' }
type Disobedience = Bill['disobedience'][number]
const PRICES = ['price_per_gigabyte', 'price_per_thousand_requests', 'price_per_origin_second'] as const

/** Draws the amounts that operators took and gave, or one operator's page. It compares with the time before. */
export default function BillView() {
  const [, operator] = view.value
  const ask = { ...mixedEnvelope(), filters: undefined, segment: undefined, compare: 'previous' }
  return operator === undefined ? <Ledger ask={ask} /> : <Letter key={operator} ask={ask} operator={operator} />
}

function Ledger({ ask }: { ask: Record<string, string | number | undefined> }) {
  const texts = later().bill
  const answer = useRead('/api/bill', ask)
  const { data, meta } = answer
  return (
    <div class="bill">
      <Sheet title={t().shell.view.bill}>
        <Sentence answers={[answer]}>{() => data && sentence(data)}</Sentence>
        <Panel
          title={texts.byOperator}
          answers={[answer]}
          skeleton={8}
          empty={data?.lines.length === 0}
          right={
            <>
              <ExportMenu report="bill" only="agent" picture={false} />
              <PlainButton onClick={() => print()}>{texts.print}</PlainButton>
            </>
          }
          foot={texts.foot}
        >
          {() =>
            data && (
              <>
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
        <Panel
          span={8}
          title={texts.disobedience}
          aside={texts.disobedienceAside}
          answers={[answer]}
          empty={data?.disobedience.length === 0}
          emptyText={texts.obeyed}
          foot={texts.disobedienceFoot}
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
        <Panel span={4} title={texts.prices} answers={[answer]} class="no-print" foot={texts.pricesFoot}>
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
    ...(cost === undefined ? [] : texts.cost(<span class="agents">{moneyText(cost, currency)}</span>)),
    ...texts.sent(quantity('/api/bill readers', readers, (text) => <span class="people">{text}</span>)),
    ...(cost === undefined
      ? [' ', texts.noPrices]
      : disallowed_cost > 0
        ? texts.disobeyed(<b>{moneyText(disallowed_cost, currency)}</b>)
        : []),
  ]
}

/** An amount that is not there, with the reason. */
const missing = (text: string) => <span class="muted small">{text}</span>

function ledgerColumns(bill: Bill): Column<Line>[] {
  const texts = later().bill
  const { currency } = bill
  const priced = bill.cost !== undefined
  const metric = priced ? 'cost' : 'bytes'
  const taken = (line: Line) => (priced ? line.cost : line.bytes) ?? 0
  const most = Math.max(Number.MIN_VALUE, ...bill.lines.map(taken))
  const mostReaders = Math.max(1, ...bill.lines.map(({ readers = 0 }) => readers))
  const nameOf = ({ kind, operator = '' }: Line) => {
    if (kind === 'operator') return <a href={hrefTo({ path: viewPath('bill', operator) })}>{operator.slice(0, 100)}</a>
    if (kind === 'total') return <b>{texts.total}</b>
    return (
      <>
        {texts.kinds[kind]}
        {kind === 'spoofed' && <span class="muted small line">{texts.toNoOperator}</span>}
      </>
    )
  }
  const wide = { right: true, wide: true } as const
  const text = (line: Line) =>
    priced
      ? line.cost === undefined
        ? '–'
        : moneyText(line.cost, currency)
      : line.bytes === undefined
        ? '–'
        : formatBytes(line.bytes)
  return [
    column(texts.operator, {}, nameOf),
    // Left out if the site has no goals.
    column(texts.goals, { ...wide, width: '72px' }, ({ goals }) =>
      bill.goals === undefined ? null : goals === undefined ? '–' : formatNumber(goals),
    ),
    {
      ...{ key: 'given', width: '27%', phone: 'below' },
      head: texts.givenTaken(<Mark of="human" />, <Mark of="agent" />, priced),
      cell: (line) =>
        line.kind === 'total' ? (
          <b class="bill-total">
            <span class="people">{formatNumber(line.readers ?? 0)}</span>
            <span>{text(line)}</span>
          </b>
        ) : (
          <GivenTaken
            given={line.readers}
            givenShare={(line.readers ?? 0) / mostReaders}
            taken={text(line)}
            takenShare={taken(line) / most}
          />
        ),
    },
    column(texts.fetches, { ...wide, width: '88px' }, ({ fetches = 0 }) => formatNumber(fetches)),
    ...(priced
      ? [
          column<Line>(texts.sentBytes, { ...wide, width: '88px' }, ({ bytes }) =>
            bytes === undefined ? missing(texts.notKnown) : formatBytes(bytes),
          ),
        ]
      : []),
    column(texts.origin, { ...wide, width: '88px' }, ({ origin_seconds }) =>
      origin_seconds === undefined ? missing(texts.notKnown) : formatSeconds(origin_seconds),
    ),
    column(texts.perReader, { right: true, width: '124px', phone: 'end' }, (line) =>
      line.cost_per_reader === undefined
        ? missing(line.no_cost_per_reader === undefined ? '' : texts.noCost[line.no_cost_per_reader])
        : moneyText(line.cost_per_reader, currency),
    ),
    column(
      texts.before,
      {
        ...{ ...wide, width: '88px' },
        isEmpty: (line) => changeText(metric, line[metric], line.comparison?.[metric]) === '',
      },
      (line) => <RowChange metric={metric} now={line[metric]} before={line.comparison?.[metric]} />,
    ),
  ]
}

interface GivenTakenProps {
  given: number | undefined
  givenShare: number
  taken: string
  takenShare: number
}

/** Readers to the left, what was taken to the right, each on its own scale. */
function GivenTaken({ given, givenShare, taken, takenShare }: GivenTakenProps) {
  const [left, right] = [givenShare * 18, takenShare * 36]
  const readers = given === undefined ? later().bill.notKnown : formatNumber(given)
  return (
    <svg class="chart" height="16" role="img" aria-label={later().bill.both(readers, taken)}>
      <line x1="36%" x2="36%" y1="0" y2="16" stroke="var(--line)" />
      <rect x={`${36 - left}%`} width={`${left}%`} y="5" height="6" fill="var(--people)" />
      <rect x="36%" width={`${right}%`} y="5" height="6" fill="var(--agents)" />
      <text x={`${34 - left}%`} y="12" text-anchor="end">
        {readers}
      </text>
      <text x={`${38 + right}%`} y="12">
        {taken}
      </text>
    </svg>
  )
}

function disobedienceColumns(currency: string): Column<Disobedience>[] {
  const texts = later().bill
  return [
    column(texts.agent, {}, ({ spoofed, ...row }) => (
      <b>{claimedName(row.name.slice(0, 100), { ...row, verified: spoofed ? false : undefined })}</b>
    )),
    column(texts.verdict, { width: '34%', phone: 'below' }, ({ severity }) => <SeverityTag of={severity} />),
    column(texts.disallowed, { right: true, width: '25%', phone: 'below-end' }, ({ fetches = 0, bytes }) => (
      <>
        {formatNumber(fetches)}
        {bytes !== undefined && <span class="muted">, {formatBytes(bytes)}</span>}
      </>
    )),
    column(texts.costHead, { right: true, width: '88px', phone: 'end' }, ({ cost }) =>
      cost === undefined ? missing(texts.noCost.no_prices) : <b>{moneyText(cost, currency)}</b>,
    ),
  ]
}

/** The site's prices, with a form for those who may change them. */
function Prices({ of }: { of: Bill }) {
  const texts = later().bill
  const [editing, setEditing] = useState(false)
  const id = site.value?.id ?? 0
  const close = () => setEditing(false)
  return (
    <>
      <Facts>
        {PRICES.map((name) => (
          <Fact key={name} name={texts.price[name]}>
            {of[name] === undefined ? missing(texts.noPrice) : formatPrice(of[name], of.currency)}
          </Fact>
        ))}
      </Facts>
      {hasRole('admin') && (
        <div class="buttons">
          <PlainButton onClick={() => setEditing(true)}>{texts.edit}</PlainButton>
          <a class="more" href={hrefTo({ path: viewPath('settings', 'alerts') })}>
            {texts.alert}
          </a>
        </div>
      )}
      {editing && (
        <Dialog title={texts.prices} onClose={close}>
          <Form
            action={t().parts.save}
            onCancel={close}
            submit={async (fields) => {
              const priceOf = (name: string) => (textOf(fields, name) === '' ? null : Number(textOf(fields, name)))
              const body = Object.fromEntries(PRICES.map((name) => [name, priceOf(name)]))
              await send(client.PATCH('/api/sites/{id}', { params: { path: { id } }, body }))
              forget()
              toast(t().parts.saved)
              close()
            }}
          >
            {PRICES.map((name) => (
              <Input
                key={name}
                label={`${texts.price[name]} (${of.currency})`}
                name={name}
                type="number"
                min="0"
                step="0.000001"
                defaultValue={of[name]}
              />
            ))}
          </Form>
        </Dialog>
      )}
    </>
  )
}

/** A price has more digits than an amount. */
const formatPrice = (price: number, currency: string): string => `${formatNumber(price, 6)} ${currency}`
