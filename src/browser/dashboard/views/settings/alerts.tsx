import { useState } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { textColumn } from '../../parts/columns.js'
import { Secret } from '../../parts/dialogs.js'
import { Check, Choose, Field, Input, isChecked, Lines, linesOf, Select, textOf } from '../../parts/fields.js'
import { Cut } from '../../parts/names.js'
import { place } from '../../state/address.js'
import { formatBytes, formatInstant, formatMoney, formatNumber, formatShare } from '../../state/format.js'
import { site } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { Records, saveTo, switchColumn, useSiteRecords } from './records.js'

type Alert = DataOf<'/api/alerts'>[number]

const KINDS = [
  'threshold',
  'change',
  'new_agent',
  'unverified_agent',
  'policy_violation',
  'policy_changed',
  'agent_errors',
  'budget',
  'old_edition',
] as const
const METRICS = ['visitors', 'sessions', 'pageviews', 'events', 'fetches', 'agents', 'bounce', 'duration'] as const
const BUDGETS = ['cost', 'bytes'] as const
const AUDIENCES = ['human', 'agent', 'all'] as const
const WEEK_MINUTES = 10_080
const OPS = ['gt', 'gte', 'lt', 'lte'] as const
/** Windows of a budget in minutes: a day, a week and 30 days. */
const BUDGET_WINDOWS = [1_440, WEEK_MINUTES, 43_200]

/** A line is an e-mail address or the address of a webhook. */
const toChannels = (lines: readonly string[]) =>
  lines.map((target) =>
    /^https?:/i.test(target) ? { type: 'webhook' as const, target } : { type: 'email' as const, target },
  )

const pick = <T extends string>(values: readonly T[], text: string): T | undefined =>
  values.find((value) => value === text)

/** Alerts, with a test that sends one now. */
export function Alerts() {
  const texts = t().settings.alerts
  const [secret, setSecret] = useState<string>()
  return (
    <Records
      {...useSiteRecords('/api/alerts')}
      title={t().settings.sections.alerts}
      texts={texts}
      sendsMail
      startsNew={place.value.own.new !== undefined}
      role="member"
      nameOf={({ name }) => name}
      columns={[
        textColumn('name', t().parts.name),
        { key: 'kind', head: t().parts.note.at, cell: (row) => describe(row) },
        {
          key: 'to',
          head: texts.to,
          wide: true,
          cell: ({ channels }) => <Cut text={channels.map(({ target }) => target).join(', ')} />,
        },
        {
          key: 'last',
          head: texts.last,
          wide: true,
          width: '16%',
          cell: ({ last_fired_at }) => (last_fired_at ? formatInstant(last_fired_at) : t().parts.never),
        },
        { ...switchColumn('/api/alerts', 'name'), width: '12%' },
      ]}
      above={secret && <Secret title={texts.secret} text={texts.secretText} codes={[secret]} />}
      save={saveTo(
        '/api/alerts',
        (fields) => {
          const kind = pick(KINDS, textOf(fields, 'kind')) ?? 'threshold'
          const counted = isCounted(kind)
          const metric = textOf(fields, 'metric')
          const op = pick(OPS, textOf(fields, 'op'))
          const audience = pick(AUDIENCES, textOf(fields, 'audience'))
          return {
            name: textOf(fields, 'name'),
            kind,
            window_minutes: Number(textOf(fields, 'window_minutes')) || 60,
            channels: toChannels(linesOf(fields, 'channels')),
            enabled: isChecked(fields, 'enabled'),
            ...(counted && op ? { op } : {}),
            ...(isOfReadership(kind) && audience ? { audience } : {}),
            ...(kind === 'budget' && fields.has('operator') ? { filters: byOperator(textOf(fields, 'operator')) } : {}),
            ...(kind === 'old_edition' ? { value: Number(textOf(fields, 'value')) } : {}),
            ...(counted ? { value: exact(Number(textOf(fields, 'value')) * unitOf(kind, metric)), metric } : {}),
          }
        },
        (made) => setSecret(made.secret),
      )}
      form={(row) => <AlertFields row={row} />}
    />
  )
}

const isOfReadership = (kind: string): boolean => kind === 'threshold' || kind === 'change'
const isCounted = (kind: string): boolean => isOfReadership(kind) || kind === 'budget'

const byOperator = (operator: string) =>
  operator === '' ? [] : [{ dimension: 'operator', op: 'is' as const, value: operator }]
/** The operator of a budget: empty for all; undefined for filters that the form has no field for, which stay as they are. */
const operatorOf = (row: Alert | undefined): string | undefined => {
  const [filter, more] = row?.kind === 'budget' ? row.filters : []
  if (filter === undefined) return ''
  const isOperator =
    more === undefined && 'dimension' in filter && filter.dimension === 'operator' && filter.op === 'is'
  return isOperator && typeof filter.value === 'string' ? filter.value : undefined
}

const metricText = (metric: string): string =>
  metric === 'cost' ? t().settings.alerts.cost : (t().parts.metric[metric] ?? metric)

/** The size of what a reader types: gigabytes for bytes, and percent for a change, which is stored as a ratio. */
const unitOf = (kind: string, metric: string | undefined): number =>
  kind === 'change' ? 0.01 : kind === 'budget' && metric === 'bytes' ? 1e9 : 1
/** Removes the noise of binary fractions, as in `0.07 / 0.01`. */
const exact = (value: number): number => Number(value.toPrecision(12))
const currency = (): string => site.value?.currency ?? 'EUR'

function amountText({ kind, metric, value }: Alert): string {
  if (kind === 'change') return formatShare(value)
  if (kind !== 'budget') return formatNumber(value, 6)
  return metric === 'bytes' ? formatBytes(value) : formatMoney(value, currency())
}

const windowText = (minutes: number): string => {
  const texts = t().settings.alerts
  return texts.within[minutes] ?? texts.withinMinutes(minutes)
}

function describe(row: Alert): string {
  const { kind, metric = '', op, value, window_minutes } = row
  const texts = t().settings.alerts
  if (kind === 'old_edition') return `${texts.kinds[kind]}: ${texts.days(value)}`
  if (!isCounted(kind)) return texts.kinds[kind]
  const who = kind === 'budget' ? operatorOf(row) : ''
  const line = `${metricText(metric)}: ${texts.than[op]} ${amountText(row)} ${windowText(window_minutes)}`
  return who ? `${who}, ${line}` : line
}

function OperatorOfBudget({ row }: { row: Alert | undefined }) {
  const texts = t().settings.alerts
  const operator = row ? operatorOf(row) : (place.value.own.operator ?? '')
  if (operator === undefined) return null
  return <Input label={texts.ofOperator} hint={texts.ofOperatorHint} name="operator" defaultValue={operator} />
}

interface FieldsProps {
  row: Alert | undefined
  kind: string
}

/** The number that is compared, and with which value, in the unit of the number. */
function CountedFields({ row, kind }: FieldsProps) {
  const texts = t().settings.alerts
  const isBudget = kind === 'budget'
  const [metric, setMetric] = useState<string>(row?.metric ?? (isBudget ? 'cost' : 'visitors'))
  const unit = isBudget ? (metric === 'bytes' ? 'GB' : currency()) : kind === 'change' ? '%' : ''
  return (
    <>
      {isBudget ? (
        <OperatorOfBudget row={row} />
      ) : (
        <Select
          label={t().shell.readership}
          name="audience"
          value={row?.audience ?? 'human'}
          choices={AUDIENCES.map((each) => [each, texts.audiences[each]])}
        />
      )}
      <Field label={texts.metric} name="metric">
        <Choose
          name="metric"
          value={metric}
          choices={(isBudget ? BUDGETS : METRICS).map((each) => [each, metricText(each)])}
          onChoose={setMetric}
        />
      </Field>
      <Select
        label={t().shell.operator}
        name="op"
        value={row?.op ?? 'gt'}
        choices={OPS.map((each) => [each, texts.than[each]])}
      />
      <Input
        label={unit === '' ? t().shell.value : `${t().shell.value} (${unit})`}
        hint={kind === 'change' && texts.changeHint}
        name="value"
        type="number"
        step="any"
        required
        defaultValue={row && exact(row.value / unitOf(kind, row.metric))}
      />
    </>
  )
}

/** The length of the window: one of few for a budget, else minutes. */
function WindowField({ row, kind }: FieldsProps) {
  const { window } = t().settings.alerts
  const isBudget = kind === 'budget'
  const minutes = row?.window_minutes ?? (isBudget ? 1_440 : kind === 'old_edition' ? WEEK_MINUTES : 60)
  const field = { name: 'window_minutes', label: isBudget ? window : `${window} (min)` }
  const choices = [...new Set([...BUDGET_WINDOWS, minutes])].map((each) => [`${each}`, windowText(each)] as const)
  return isBudget ? (
    <Select {...field} value={`${minutes}`} choices={choices} />
  ) : (
    <Input {...field} type="number" min="1" required defaultValue={minutes} />
  )
}

/** The fields of an alert. A link such as the bill's names the kind of a new one, and the operator of a budget. */
function AlertFields({ row }: { row: Alert | undefined }) {
  const texts = t().settings.alerts
  const [kind, setKind] = useState<string>(row?.kind ?? pick(KINDS, place.value.own.new ?? '') ?? 'threshold')
  return (
    <>
      <Input
        label={t().parts.name}
        name="name"
        required
        maxLength={100}
        defaultValue={row?.name ?? (kind === 'budget' ? texts.kinds.budget : '')}
        autofocus
      />
      <Field label={t().parts.note.at} name="kind">
        <Choose name="kind" value={kind} choices={KINDS.map((each) => [each, texts.kinds[each]])} onChoose={setKind} />
      </Field>
      {isCounted(kind) && <CountedFields key={`${isOfReadership(kind)}`} row={row} kind={kind} />}
      {kind === 'old_edition' && (
        <Input
          label={texts.since}
          hint={texts.sinceHint}
          name="value"
          type="number"
          min="1"
          required
          defaultValue={row?.value ?? 7}
        />
      )}
      <WindowField key={kind} row={row} kind={kind} />
      <Lines
        label={texts.to}
        hint={texts.toHint}
        name="channels"
        required
        lines={row?.channels.map(({ target }) => target)}
      />
      <Check label={texts.on} name="enabled" defaultChecked={row?.enabled ?? true} />
    </>
  )
}
