import { useState } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { textColumn } from '../../parts/columns.js'
import { Secret } from '../../parts/dialogs.js'
import { Check, Choose, Field, Input, isChecked, Lines, linesOf, Select, textOf } from '../../parts/fields.js'
import { Cut } from '../../parts/names.js'
import { formatInstant } from '../../state/format.js'
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
            ...(counted ? { value: Number(textOf(fields, 'value')), metric: textOf(fields, 'metric') } : {}),
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

function describe({ kind, metric, op, value, window_minutes }: Alert): string {
  const texts = t().settings.alerts
  if (kind === 'old_edition') return `${texts.kinds[kind]}: ${texts.days(value)}`
  if (!isCounted(kind)) return texts.kinds[kind]
  return `${metricText(metric ?? '')} ${t().shell.operators[op] ?? op} ${value} / ${window_minutes} min`
}

function OperatorOfBudget({ row }: { row: Alert | undefined }) {
  const texts = t().settings.alerts
  const operator = operatorOf(row)
  if (operator === undefined) return null
  return <Input label={texts.ofOperator} hint={texts.ofOperatorHint} name="operator" defaultValue={operator} />
}

function AlertFields({ row }: { row: Alert | undefined }) {
  const texts = t().settings.alerts
  const [kind, setKind] = useState<string>(row?.kind ?? 'threshold')
  return (
    <>
      <Input label={t().parts.name} name="name" required maxLength={100} defaultValue={row?.name} autofocus />
      <Field label={t().parts.note.at} name="kind">
        <Choose name="kind" value={kind} choices={KINDS.map((each) => [each, texts.kinds[each]])} onChoose={setKind} />
      </Field>
      {isCounted(kind) && (
        <>
          {isOfReadership(kind) ? (
            <Select
              label={t().shell.readership}
              name="audience"
              value={row?.audience ?? 'human'}
              choices={AUDIENCES.map((each) => [each, texts.audiences[each]])}
            />
          ) : (
            <OperatorOfBudget row={row} />
          )}
          <Select
            label={texts.metric}
            name="metric"
            value={row?.metric ?? (kind === 'budget' ? 'cost' : 'visitors')}
            choices={(kind === 'budget' ? BUDGETS : METRICS).map((each) => [each, metricText(each)])}
          />
          <Select
            label={t().shell.operator}
            name="op"
            value={row?.op ?? 'gt'}
            choices={OPS.map((each) => [each, t().shell.operators[each] ?? each])}
          />
          <Input
            label={t().shell.value}
            hint={kind === 'change' && texts.changeHint}
            name="value"
            type="number"
            step="any"
            required
            defaultValue={row?.value}
          />
        </>
      )}
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
      <Input
        key={kind === 'old_edition' ? kind : ''}
        label={texts.window}
        name="window_minutes"
        type="number"
        min="1"
        required
        defaultValue={row?.window_minutes ?? (kind === 'old_edition' ? WEEK_MINUTES : 60)}
      />
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
