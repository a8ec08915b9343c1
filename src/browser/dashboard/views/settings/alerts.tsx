import { useState } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { textColumn } from '../../parts/columns.js'
import { act, Code, Field, Select } from '../../parts/dialogs.js'
import { Cut } from '../../parts/names.js'
import { Toggle } from '../../parts/toggle.js'
import { client, type Problem, send } from '../../state/client.js'
import { useRead } from '../../state/data.js'
import { formatInstant } from '../../state/format.js'
import { site } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { ifMatch, linesOf, Records, textOf } from './records.js'

type Alert = DataOf<'/api/alerts'>[number]

const KINDS = [
  'threshold',
  'change',
  'new_agent',
  'unverified_agent',
  'policy_violation',
  'policy_changed',
  'agent_errors',
] as const
const METRICS = ['visitors', 'sessions', 'pageviews', 'events', 'fetches', 'agents', 'bounce', 'duration'] as const
const AUDIENCES = ['human', 'agent', 'all'] as const
const OPS = ['gt', 'gte', 'lt', 'lte'] as const

/** A line is an e-mail address or the address of a webhook. */
const toChannels = (lines: readonly string[]) =>
  lines.map((target) =>
    /^https?:/i.test(target) ? { type: 'webhook' as const, target } : { type: 'email' as const, target },
  )

const pick = <T extends string>(values: readonly T[], text: string): T | undefined =>
  values.find((value) => value === text)

/** Alerts, with a test that sends one now. Long because the fields stand beside the call that sends them. */
export function Alerts() {
  const texts = t().settings.alerts
  const answer = useRead('/api/alerts', { site: site.value?.id })
  const [secret, setSecret] = useState<string>()
  return (
    <Records
      title={t().settings.sections.alerts}
      intro={texts.intro}
      answer={answer}
      path="/api/alerts"
      role="member"
      canEdit
      newLabel={texts.new}
      nameOf={({ name }) => name}
      keyOf={({ id }) => `${id}`}
      remove={({ id, version }) =>
        send(client.DELETE('/api/alerts/{id}', { params: { path: { id } }, ...ifMatch(version) }))
      }
      actions={(row) => (
        <button
          type="button"
          class="more"
          aria-label={`${texts.test}: ${row.name}`}
          onClick={() =>
            void act(
              () => send(client.POST('/api/alerts/{id}/test', { params: { path: { id: row.id } } })),
              texts.tested,
            )
          }
        >
          {texts.test}
        </button>
      )}
      columns={[
        textColumn('name', texts.name),
        { key: 'kind', head: texts.kind, cell: (row) => describe(row) },
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
          cell: ({ last_fired_at }) => (last_fired_at ? formatInstant(last_fired_at) : texts.never),
        },
        {
          key: 'enabled',
          head: t().settings.flags.state,
          width: '12%',
          cell: ({ id, name, version, enabled: on }) => (
            <Toggle
              label={name}
              on={on}
              version={version}
              list="/api/alerts"
              set={(enabled) =>
                send(
                  client.PATCH('/api/alerts/{id}', {
                    params: { path: { id } },
                    body: { enabled },
                    ...ifMatch(version),
                  }),
                )
              }
            />
          ),
        },
      ]}
      above={
        secret && (
          <div class="secret">
            <h3>{texts.secret}</h3>
            <p class="muted">{texts.secretText}</p>
            <Code text={secret} />
          </div>
        )
      }
      save={async (fields, row) => {
        const kind = pick(KINDS, textOf(fields, 'kind')) ?? 'threshold'
        const counted = kind === 'threshold' || kind === 'change'
        const op = pick(OPS, textOf(fields, 'op'))
        const audience = pick(AUDIENCES, textOf(fields, 'audience'))
        const body = {
          name: textOf(fields, 'name'),
          kind,
          window_minutes: Number(textOf(fields, 'window_minutes')) || 60,
          channels: toChannels(linesOf(fields, 'channels')),
          enabled: fields.get('enabled') !== null,
          ...(counted && op ? { op } : {}),
          ...(counted && audience ? { audience } : {}),
          ...(counted ? { value: Number(textOf(fields, 'value')), metric: textOf(fields, 'metric') } : {}),
        }
        if (row)
          await send(
            client.PATCH('/api/alerts/{id}', { params: { path: { id: row.id } }, body, ...ifMatch(row.version) }),
          )
        else {
          const { data } = await send(client.POST('/api/alerts', { body: { ...body, site: site.value?.id ?? 0 } }))
          setSecret(data.secret)
        }
      }}
      form={(row, problem) => <AlertFields row={row} problem={problem} />}
    />
  )
}

function describe({ kind, metric, op, value, window_minutes }: Alert): string {
  const texts = t().settings.alerts
  if (kind !== 'threshold' && kind !== 'change') return texts.kinds[kind]
  return `${t().parts.metric[metric ?? ''] ?? metric ?? ''} ${t().shell.operators[op] ?? op} ${value} / ${window_minutes} min`
}

function AlertFields({ row, problem }: { row: Alert | undefined; problem: Problem | undefined }) {
  const texts = t().settings.alerts
  const [kind, setKind] = useState<string>(row?.kind ?? 'threshold')
  return (
    <>
      <Field label={texts.name} name="name" problem={problem}>
        <input name="name" required maxLength={100} defaultValue={row?.name ?? ''} autofocus />
      </Field>
      <Field label={texts.kind} name="kind" problem={problem}>
        <select name="kind" value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
          {KINDS.map((each) => (
            <option key={each} value={each}>
              {texts.kinds[each]}
            </option>
          ))}
        </select>
      </Field>
      {(kind === 'threshold' || kind === 'change') && (
        <>
          <Field label={t().shell.readership} name="audience" problem={problem}>
            <Select
              name="audience"
              value={row?.audience ?? 'human'}
              choices={AUDIENCES.map((each) => [each, texts.audiences[each]])}
            />
          </Field>
          <Field label={texts.metric} name="metric" problem={problem}>
            <Select
              name="metric"
              value={row?.metric ?? 'visitors'}
              choices={METRICS.map((each) => [each, t().parts.metric[each] ?? each])}
            />
          </Field>
          <Field label={t().shell.operator} name="op" problem={problem}>
            <Select
              name="op"
              value={row?.op ?? 'gt'}
              choices={OPS.map((each) => [each, t().shell.operators[each] ?? each])}
            />
          </Field>
          <Field
            label={t().shell.value}
            name="value"
            problem={problem}
            hint={kind === 'change' ? texts.changeHint : undefined}
          >
            <input type="number" step="any" name="value" required defaultValue={`${row?.value ?? ''}`} />
          </Field>
        </>
      )}
      <Field label={texts.window} name="window_minutes" problem={problem}>
        <input type="number" min="1" name="window_minutes" required defaultValue={`${row?.window_minutes ?? 60}`} />
      </Field>
      <Field label={texts.to} name="channels" problem={problem} hint={texts.toHint}>
        <textarea
          name="channels"
          rows={3}
          required
          defaultValue={row?.channels.map(({ target }) => target).join('\n') ?? ''}
        />
      </Field>
      <label class="check">
        <input type="checkbox" name="enabled" defaultChecked={row?.enabled ?? true} /> {texts.on}
      </label>
    </>
  )
}
