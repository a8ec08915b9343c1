import { textColumn } from '../../parts/columns.js'
import { act, Field, Select } from '../../parts/dialogs.js'
import { Cut } from '../../parts/names.js'
import { Toggle } from '../../parts/toggle.js'
import { client, send } from '../../state/client.js'
import { useRead } from '../../state/data.js'
import { formatDay } from '../../state/format.js'
import { site } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { ifMatch, linesOf, Records, textOf } from './records.js'

/** Reports by mail, weekly or monthly. Long because the fields stand beside the call that sends them. */
export function Reports() {
  const texts = t().settings.reports
  return (
    <Records
      title={t().settings.sections.reports}
      intro={texts.intro}
      answer={useRead('/api/reports', { site: site.value?.id })}
      path="/api/reports"
      role="member"
      canEdit
      newLabel={texts.new}
      nameOf={({ name }) => name}
      keyOf={({ id }) => `${id}`}
      remove={({ id, version }) =>
        send(client.DELETE('/api/reports/{id}', { params: { path: { id } }, ...ifMatch(version) }))
      }
      actions={({ id, name }) => (
        <button
          type="button"
          class="more"
          aria-label={`${texts.test}: ${name}`}
          onClick={() =>
            void act(() => send(client.POST('/api/reports/{id}/test', { params: { path: { id } } })), texts.tested)
          }
        >
          {texts.test}
        </button>
      )}
      columns={[
        textColumn('name', texts.name),
        { key: 'period', head: texts.period, cell: ({ period }) => texts.periods[period] },
        {
          key: 'to',
          head: texts.recipients,
          wide: true,
          cell: ({ recipients }) => <Cut text={recipients.join(', ')} />,
        },
        {
          key: 'last',
          head: texts.last,
          wide: true,
          cell: ({ last_sent }) => (last_sent ? formatDay(last_sent) : texts.never),
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
              list="/api/reports"
              set={(enabled) =>
                send(
                  client.PATCH('/api/reports/{id}', {
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
      save={async (fields, row) => {
        const period = textOf(fields, 'period') === 'monthly' ? ('monthly' as const) : ('weekly' as const)
        const body = {
          name: textOf(fields, 'name'),
          period,
          recipients: linesOf(fields, 'recipients'),
          enabled: fields.get('enabled') !== null,
        }
        if (row)
          await send(
            client.PATCH('/api/reports/{id}', { params: { path: { id: row.id } }, body, ...ifMatch(row.version) }),
          )
        else await send(client.POST('/api/reports', { body: { ...body, site: site.value?.id ?? 0 } }))
      }}
      form={(row, problem) => (
        <>
          <Field label={texts.name} name="name" problem={problem}>
            <input name="name" required maxLength={100} defaultValue={row?.name ?? ''} autofocus />
          </Field>
          <Field label={texts.period} name="period" problem={problem}>
            <Select
              name="period"
              value={row?.period ?? 'weekly'}
              choices={[
                ['weekly', texts.periods.weekly],
                ['monthly', texts.periods.monthly],
              ]}
            />
          </Field>
          <Field label={texts.recipients} name="recipients" problem={problem} hint={texts.recipientsHint}>
            <textarea name="recipients" rows={3} required defaultValue={row?.recipients.join('\n') ?? ''} />
          </Field>
          <label class="check">
            <input type="checkbox" name="enabled" defaultChecked={row?.enabled ?? true} /> {t().settings.alerts.on}
          </label>
        </>
      )}
    />
  )
}
