import { signal } from '@preact/signals'
import type { DataOf } from '../client/index.js'
import { Dialog, Form, toast } from '../parts/dialogs.js'
import { Check, Input, isChecked } from '../parts/fields.js'
import { describeFilter, dimensionName, operatorName, useSegments, valueText } from '../parts/filter-name.js'
import { Icon } from '../parts/marks.js'
import { Popover } from '../parts/popover.js'
import { type FilterNode, go, isFilter, place } from '../state/address.js'
import { forget } from '../state/data.js'
import { addFilter, leaves, removeFilter, replaceFilter, segments } from '../state/filters.js'
import { dimensions } from '../state/question.js'
import { create } from '../state/records.js'
import { hasRole } from '../state/session.js'
import { t } from '../texts/index.js'
import { FilterForm, isEditable } from './filter-form.js'
import { Now } from './rail.js'

/** Whether the dialog that saves the filters as a segment is open. */
export const savingSegment = signal(false)

type Segment = DataOf<'/api/segments'>[number]

/** Says which readership alone has a filter's dimensions. */
function onlyFor(node: FilterNode): string | undefined {
  const { shell } = t()
  for (const { dimension } of leaves(node)) {
    const known = dimensions.value.find(({ name }) => name === dimension)
    if (known?.audiences.includes('human') === false) return shell.agentsOnly
    if (known?.audiences.includes('agent') === false) return shell.peopleOnly
  }
  return undefined
}

function Chip({ node, index }: { node: FilterNode; index: number }) {
  const { shell } = t()
  const text = describeFilter(node)
  const only = place.value.show === 'both' ? onlyFor(node) : undefined
  const words = isFilter(node) ? (
    <>
      {dimensionName(node.dimension)} <span class="muted">{operatorName(node.op)}</span>{' '}
      <b dir="auto">{valueText(node.dimension, node.value)}</b>
    </>
  ) : (
    <b dir="auto">{text}</b>
  )
  return (
    <span class="chip">
      {isEditable(node) ? (
        <Popover class="edit" label={shell.editFilter(text)} button={words}>
          {(close) => (
            <FilterForm
              node={node}
              action={shell.change}
              onDone={(changed) => {
                replaceFilter(index, changed)
                close()
              }}
            />
          )}
        </Popover>
      ) : (
        <span class="edit">{words}</span>
      )}
      {only && <span class="muted small">{only}</span>}
      <button type="button" class="remove" aria-label={shell.removeFilter(text)} onClick={() => removeFilter(index)}>
        <Icon name="close" />
      </button>
    </span>
  )
}

function SegmentChip({ all }: { all: readonly Segment[] }) {
  const { shell } = t()
  const { segment } = place.value
  if (segment === undefined) return null
  const found = all.find(({ id }) => id === segment)
  const name = found?.name ?? `${segment}`
  const only = found && place.value.show === 'both' ? onlyFor({ and: found.filters }) : undefined
  return (
    <span class="chip">
      {shell.segment} <b dir="auto">{name}</b>
      {only && <span class="muted small">{only}</span>}
      <button
        type="button"
        class="remove"
        aria-label={shell.removeFilter(name)}
        onClick={() => go({ segment: undefined })}
      >
        <Icon name="close" />
      </button>
    </span>
  )
}

/** Says that suspected sessions are left out of all views, and counts them again. */
function SuspectedChip() {
  const { shell } = t()
  if (place.value.suspected === undefined) return null
  return (
    <span class="chip">
      <b>{shell.withoutSuspected}</b>
      {place.value.show === 'both' && <span class="muted small">{shell.peopleOnly}</span>}
      <button
        type="button"
        class="remove"
        aria-label={shell.removeFilter(shell.withoutSuspected)}
        onClick={() => go({ suspected: undefined })}
      >
        <Icon name="close" />
      </button>
    </span>
  )
}

function SegmentMenu({ all }: { all: readonly Segment[] }) {
  const { shell } = t()
  const canSave = hasRole('member') && place.value.filters.length > 0
  if (all.length === 0 && !canSave) return null
  return (
    <Popover menu class="chip add" button={shell.segment}>
      {(close) => (
        <>
          {all.map(({ id, name }) => (
            <button
              key={id}
              type="button"
              aria-current={id === place.value.segment}
              onClick={() => {
                go({ segment: id === place.value.segment ? undefined : id })
                close()
              }}
            >
              <span dir="auto">{name}</span>
            </button>
          ))}
          {canSave && (
            <>
              <hr />
              <button
                type="button"
                onClick={() => {
                  close()
                  savingSegment.value = true
                }}
              >
                {shell.saveSegment} <kbd>s</kbd>
              </button>
            </>
          )}
        </>
      )}
    </Popover>
  )
}

function SaveSegment() {
  const { shell, parts } = t()
  const close = () => {
    savingSegment.value = false
  }
  return (
    <Dialog title={shell.saveSegment} onClose={close}>
      <p class="muted">{place.value.filters.map(describeFilter).join('; ')}</p>
      <Form
        action={parts.save}
        onCancel={close}
        submit={async (fields) => {
          const made = await create('/api/segments', {
            name: `${fields.get('name')}`,
            filters: [...place.value.filters],
            shared: isChecked(fields, 'shared'),
          })
          segments.value = [...segments.value, made]
          forget('/api/segments')
          go({ segment: made.id, filters: [] })
          close()
          toast(parts.saved)
        }}
      >
        <Input label={t().parts.name} name="name" required maxLength={100} autofocus />
        <Check label={shell.segmentShared} name="shared" checked />
      </Form>
    </Dialog>
  )
}

/** The filters on screen, the ways to add one, and who is reading now. */
export function Chips() {
  const { shell } = t()
  const { data: all = [] } = useSegments()
  return (
    <section class="chips" aria-label={shell.filters}>
      <Popover
        id="add-filter"
        class="chip add"
        button={
          <>
            <Icon name="plus" />
            {shell.filter}
          </>
        }
      >
        {(close) => (
          <FilterForm
            action={shell.add}
            onDone={(node) => {
              addFilter(node)
              close()
            }}
          />
        )}
      </Popover>
      {place.value.filters.map((node, i) => (
        <Chip key={`${i}${JSON.stringify(node)}`} node={node} index={i} />
      ))}
      <SegmentChip all={all} />
      <SuspectedChip />
      <SegmentMenu all={all} />
      {savingSegment.value && <SaveSegment />}
      <Now />
    </section>
  )
}
