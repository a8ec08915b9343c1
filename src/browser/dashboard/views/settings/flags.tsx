import { textColumn } from '../../parts/columns.js'
import { Field } from '../../parts/dialogs.js'
import { Cut } from '../../parts/names.js'
import { Toggle } from '../../parts/toggle.js'
import { client, send } from '../../state/client.js'
import { useRead } from '../../state/data.js'
import { formatShare } from '../../state/format.js'
import { site } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { ifMatch, linesOf, Records, textOf } from './records.js'

/** A line `name 50` is a variant with its weight. */
const toVariants = (lines: readonly string[]) =>
  lines.map((line) => {
    const [key = '', weight = '1'] = line.split(/[\s:=]+/)
    return { key, weight: Number(weight) || 1 }
  })

/** A share as the form asks for it. Rounded, because 0.07 times 100 is 7.000000000000001. */
const toPercent = (share: number): string => `${Math.round(share * 1e8) / 1e6}`

/** Feature flags that pages of the site ask. Long because the fields stand beside the call that sends them. */
export function Flags() {
  const texts = t().settings.flags
  return (
    <Records
      title={t().settings.sections.flags}
      intro={texts.intro}
      answer={useRead('/api/flags', { site: site.value?.id })}
      path="/api/flags"
      role="member"
      canEdit
      newLabel={texts.new}
      nameOf={({ key }) => key}
      keyOf={({ id }) => `${id}`}
      remove={({ id, version }) =>
        send(client.DELETE('/api/flags/{id}', { params: { path: { id } }, ...ifMatch(version) }))
      }
      columns={[
        textColumn('key', texts.key),
        {
          key: 'enabled',
          head: texts.state,
          cell: ({ id, key, version, enabled: on }) => (
            <Toggle
              label={key}
              on={on}
              version={version}
              list="/api/flags"
              set={(enabled) =>
                send(
                  client.PATCH('/api/flags/{id}', { params: { path: { id } }, body: { enabled }, ...ifMatch(version) }),
                )
              }
            />
          ),
        },
        { key: 'rollout', head: texts.rollout, right: true, cell: ({ rollout }) => formatShare(rollout) },
        {
          key: 'variants',
          head: texts.variants,
          wide: true,
          cell: ({ variants }) => <Cut text={variants?.map(({ key }) => key).join(', ') ?? ''} />,
        },
      ]}
      save={async (fields, row) => {
        const variants = toVariants(linesOf(fields, 'variants'))
        const body = {
          key: textOf(fields, 'key'),
          enabled: fields.get('enabled') !== null,
          rollout: Number(textOf(fields, 'rollout')) / 100,
        }
        if (row)
          await send(
            client.PATCH('/api/flags/{id}', {
              params: { path: { id: row.id } },
              body: { ...body, variants: variants.length > 0 ? variants : null },
              ...ifMatch(row.version),
            }),
          )
        else
          await send(
            client.POST('/api/flags', {
              body: { ...body, site: site.value?.id ?? 0, ...(variants.length > 0 ? { variants } : {}) },
            }),
          )
      }}
      form={(row, problem) => (
        <>
          <Field label={texts.key} name="key" problem={problem}>
            <input name="key" required maxLength={100} defaultValue={row?.key ?? ''} autofocus />
          </Field>
          <Field label={texts.rollout} name="rollout" problem={problem} hint={texts.rolloutHint}>
            <input
              type="number"
              min="0"
              max="100"
              step="any"
              name="rollout"
              defaultValue={toPercent(row?.rollout ?? 1)}
            />
          </Field>
          <Field label={texts.variants} name="variants" problem={problem} hint={texts.variantsHint}>
            <textarea
              name="variants"
              rows={3}
              defaultValue={row?.variants?.map(({ key, weight }) => `${key} ${weight}`).join('\n') ?? ''}
            />
          </Field>
          <label class="check">
            <input type="checkbox" name="enabled" defaultChecked={row?.enabled ?? true} /> {t().settings.alerts.on}
          </label>
        </>
      )}
    />
  )
}
