import { textColumn } from '../../parts/columns.js'
import { Check, Input, isChecked, Lines, linesOf, textOf } from '../../parts/fields.js'
import { Cut } from '../../parts/names.js'
import { formatShare } from '../../state/format.js'
import { t } from '../../texts/index.js'
import { Records, saveTo, switchColumn, useSiteRecords } from './records.js'

/** A line `name 50` is a variant with its weight. */
const toVariants = (lines: readonly string[]) =>
  lines.map((line) => {
    const [key = '', weight = '1'] = line.split(/[\s:=]+/)
    return { key, weight: Number(weight) || 1 }
  })

/** A share as the form asks for it. Rounded, because 0.07 times 100 is 7.000000000000001. */
const toPercent = (share: number): string => `${Math.round(share * 1e8) / 1e6}`

/** Feature flags that pages of the site ask. */
export function Flags() {
  const texts = t().settings.flags
  return (
    <Records
      {...useSiteRecords('/api/flags')}
      title={t().settings.sections.flags}
      texts={texts}
      role="member"
      nameOf={({ key }) => key}
      columns={[
        textColumn('key', texts.key),
        switchColumn('/api/flags', 'key'),
        { key: 'rollout', head: texts.rollout, right: true, cell: ({ rollout }) => formatShare(rollout) },
        {
          key: 'variants',
          head: texts.variants,
          wide: true,
          cell: ({ variants }) => <Cut text={variants?.map(({ key }) => key).join(', ') ?? ''} />,
        },
      ]}
      save={saveTo('/api/flags', (fields) => {
        const variants = toVariants(linesOf(fields, 'variants'))
        return {
          key: textOf(fields, 'key'),
          enabled: isChecked(fields, 'enabled'),
          rollout: Number(textOf(fields, 'rollout')) / 100,
          variants: variants.length > 0 ? variants : null,
        }
      })}
      form={(row) => (
        <>
          <Input label={texts.key} name="key" required maxLength={100} defaultValue={row?.key} autofocus />
          <Input
            label={texts.rollout}
            hint={texts.rolloutHint}
            name="rollout"
            type="number"
            min="0"
            max="100"
            step="any"
            defaultValue={toPercent(row?.rollout ?? 1)}
          />
          <Lines
            label={texts.variants}
            hint={texts.variantsHint}
            name="variants"
            lines={row?.variants?.map(({ key, weight }) => `${key} ${weight}`)}
          />
          <Check label={t().settings.alerts.on} name="enabled" defaultChecked={row?.enabled ?? true} />
        </>
      )}
    />
  )
}
