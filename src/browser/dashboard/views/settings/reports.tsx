import { dayColumn, textColumn } from '../../parts/columns.js'
import { Check, Input, isChecked, Lines, linesOf, Select, textOf } from '../../parts/fields.js'
import { Cut } from '../../parts/names.js'
import { t } from '../../texts/index.js'
import { Records, saveTo, switchColumn, useSiteRecords } from './records.js'

const PERIODS = ['weekly', 'monthly'] as const

/** Reports by mail, weekly or monthly. */
export function Reports() {
  const texts = t().settings.reports
  return (
    <Records
      {...useSiteRecords('/api/reports')}
      title={t().settings.sections.reports}
      texts={texts}
      sendsMail
      role="member"
      nameOf={({ name }) => name}
      columns={[
        textColumn('name', t().parts.name),
        { key: 'period', head: texts.period, cell: ({ period }) => texts.periods[period] },
        {
          key: 'to',
          head: texts.recipients,
          wide: true,
          cell: ({ recipients }) => <Cut text={recipients.join(', ')} />,
        },
        dayColumn('last_sent', t().settings.alerts.last, { wide: true }),
        { ...switchColumn('/api/reports', 'name'), width: '12%' },
      ]}
      save={saveTo('/api/reports', (fields) => ({
        name: textOf(fields, 'name'),
        period: PERIODS.find((period) => period === textOf(fields, 'period')) ?? 'weekly',
        recipients: linesOf(fields, 'recipients'),
        enabled: isChecked(fields, 'enabled'),
      }))}
      form={(row) => (
        <>
          <Input label={t().parts.name} name="name" required maxLength={100} defaultValue={row?.name} autofocus />
          <Select
            label={texts.period}
            name="period"
            value={row?.period ?? 'weekly'}
            choices={PERIODS.map((period) => [period, texts.periods[period]])}
          />
          <Lines
            label={texts.recipients}
            name="recipients"
            hint={texts.recipientsHint}
            required
            lines={row?.recipients}
          />
          <Check label={t().settings.alerts.on} name="enabled" defaultChecked={row?.enabled ?? true} />
        </>
      )}
    />
  )
}
