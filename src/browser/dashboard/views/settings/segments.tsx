import { Check, Input, isChecked, textOf } from '../../parts/fields.js'
import { describeFilter } from '../../parts/filter-name.js'
import { Cut } from '../../parts/names.js'
import { hrefTo, isFilterNode, viewPath } from '../../state/address.js'
import { change } from '../../state/records.js'
import { t } from '../../texts/index.js'
import { Records, useSiteRecords } from './records.js'

/** Saved filters. They are made from the filters on screen. */
export function Segments() {
  const texts = t().settings.segments
  return (
    <Records
      title={t().settings.sections.segments}
      texts={texts}
      {...useSiteRecords('/api/segments')}
      role="member"
      nameOf={({ name }) => name}
      columns={[
        {
          key: 'name',
          head: t().parts.name,
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
        if (row)
          await change('/api/segments', row, { name: textOf(fields, 'name'), shared: isChecked(fields, 'shared') })
      }}
      form={(row) => (
        <>
          <Input label={t().parts.name} name="name" required maxLength={100} defaultValue={row?.name} />
          <Check label={t().shell.segmentShared} name="shared" defaultChecked={row?.shared ?? true} />
        </>
      )}
    />
  )
}
