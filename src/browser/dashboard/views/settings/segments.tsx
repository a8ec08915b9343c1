import { Field } from '../../parts/dialogs.js'
import { Cut } from '../../parts/names.js'
import { describeFilter, useSegments } from '../../shell/chips.js'
import { hrefTo, isFilterNode, viewPath } from '../../state/address.js'
import { client, send } from '../../state/client.js'
import { t } from '../../texts/index.js'
import { ifMatch, Records, textOf } from './records.js'

/** Saved filters. They are made from the filters on screen. */
export function Segments() {
  const texts = t().settings.segments
  return (
    <Records
      title={t().settings.sections.segments}
      intro={texts.intro}
      answer={useSegments()}
      path="/api/segments"
      role="member"
      canEdit
      nameOf={({ name }) => name}
      keyOf={({ id }) => `${id}`}
      remove={({ id, version }) =>
        send(client.DELETE('/api/segments/{id}', { params: { path: { id } }, ...ifMatch(version) }))
      }
      columns={[
        {
          key: 'name',
          head: texts.name,
          cell: ({ id, name }) => (
            <a class="cut" href={hrefTo({ path: viewPath(), segment: id })}>
              {name}
            </a>
          ),
        },
        {
          key: 'filters',
          head: t().shell.filters,
          wide: true,
          cell: ({ filters }) => <Cut text={filters.filter(isFilterNode).map(describeFilter).join('; ')} />,
        },
        { key: 'shared', head: texts.shared, width: '20%', cell: ({ shared }) => (shared ? texts.all : texts.mine) },
      ]}
      save={async (fields, row) => {
        if (!row) return
        await send(
          client.PATCH('/api/segments/{id}', {
            params: { path: { id: row.id } },
            body: { name: textOf(fields, 'name'), shared: fields.get('shared') !== null },
            ...ifMatch(row.version),
          }),
        )
      }}
      form={(row, problem) => (
        <>
          <Field label={texts.name} name="name" problem={problem}>
            <input name="name" required maxLength={100} defaultValue={row?.name ?? ''} />
          </Field>
          <label class="check">
            <input type="checkbox" name="shared" defaultChecked={row?.shared ?? true} /> {t().shell.segmentShared}
          </label>
        </>
      )}
    />
  )
}
