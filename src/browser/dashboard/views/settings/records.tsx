import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog, Form, toast } from '../../parts/dialogs.js'
import { NewerVersion } from '../../parts/newer-version.js'
import { Panel } from '../../parts/panel.js'
import { type Column, Table } from '../../parts/table.js'
import { isProblem, type Problem } from '../../state/client.js'
import { askAgain, forget } from '../../state/data.js'
import { hasRole, type Role, timeZone } from '../../state/session.js'
import { instantOf } from '../../state/zone.js'
import { t } from '../../texts/index.js'

interface RecordsProps<Row> {
  title: string
  /** A sentence on the purpose of these records. */
  intro: string
  answer: { data?: readonly Row[]; problem?: Problem; loading: boolean; stale: boolean; retry(): void }
  /** The address that the list is read from; it is asked again after a change. */
  path: string
  columns: readonly Column<Row>[]
  nameOf: (row: Row) => string
  keyOf: (row: Row) => string
  /** The least role that may change these records. */
  role: Role
  /** The label of the button that opens the form for a new record. */
  newLabel?: string
  /** The fields of the form; `row` is the record to change. */
  form?: (row: Row | undefined, problem: Problem | undefined) => ComponentChildren
  save?: (fields: FormData, row: Row | undefined) => Promise<void>
  canEdit?: boolean
  remove?: (row: Row) => Promise<unknown>
  removeLabel?: string
  /** Further acts of a row, such as a test. */
  actions?: (row: Row) => ComponentChildren
  above?: ComponentChildren
}

/**
 * A list of records with a dialog to make and change one, and a question before one is deleted. Long because the list and
 * its two dialogs share their state.
 */
export function Records<Row>(props: RecordsProps<Row>) {
  const { title, intro, answer, columns, nameOf, keyOf, role, newLabel, form, save, remove, actions, above } = props
  const { parts } = t()
  const [editing, setEditing] = useState<{ row?: Row; newer?: Date }>()
  const [removing, setRemoving] = useState<Row>()
  const rows = answer.data ?? []
  const mayChange = hasRole(role)
  const done = (text: string) => {
    forget(props.path)
    setEditing(undefined)
    setRemoving(undefined)
    toast(text)
  }
  // After a conflict the reader's input is stored over the record of the other member.
  const edited = editing?.row
  const current = edited && editing.newer ? (rows.find((row) => keyOf(row) === keyOf(edited)) ?? edited) : edited
  const store = async (fields: FormData): Promise<void> => {
    try {
      await save?.(fields, current)
    } catch (error) {
      const isConflict = isProblem(error) && error.status === 409 && error.field === undefined
      if (!isConflict || !Reflect.has(Object(edited), 'version')) throw error
      // The reader chooses once the list has the other member's record; the choice is stored over that version.
      await askAgain(props.path)
      setEditing({ ...editing, newer: new Date() })
      return
    }
    done(parts.saved)
  }
  const acts: Column<Row> = {
    key: 'acts',
    head: <span class="visually-hidden">{parts.edit}</span>,
    right: true,
    cell: (row) => (
      <span class="row-actions">
        {actions?.(row)}
        {props.canEdit && (
          <button
            type="button"
            class="more"
            aria-label={`${parts.edit}: ${nameOf(row)}`}
            onClick={() => setEditing({ row })}
          >
            {parts.edit}
          </button>
        )}
        {remove && (
          <button
            type="button"
            class="more"
            aria-label={`${props.removeLabel ?? parts.delete}: ${nameOf(row)}`}
            onClick={() => setRemoving(row)}
          >
            {props.removeLabel ?? parts.delete}
          </button>
        )}
      </span>
    ),
  }
  return (
    <Panel
      title={title}
      answers={[answer]}
      right={
        mayChange && newLabel && form ? (
          <button type="button" class="button" onClick={() => setEditing({})}>
            {newLabel}
          </button>
        ) : (
          !mayChange && <span class="muted small">{parts.needsRole(role)}</span>
        )
      }
    >
      {() => (
        <>
          <p class="muted">{intro}</p>
          {above}
          {rows.length > 0 && (
            <Table label={title} rows={rows} rowKey={keyOf} columns={mayChange ? [...columns, acts] : columns} />
          )}
          {editing && form && save && (
            <Dialog
              title={editing.row ? nameOf(editing.row) : (newLabel ?? title)}
              onClose={() => setEditing(undefined)}
            >
              <Form
                action={editing.row ? parts.save : parts.create}
                onCancel={() => setEditing(undefined)}
                submit={store}
              >
                {(problem) => (
                  <>
                    {form(editing.row, problem)}
                    {editing.newer && current && (
                      <NewerVersion at={editing.newer} summary={nameOf(current)} onTake={() => setEditing(undefined)} />
                    )}
                  </>
                )}
              </Form>
            </Dialog>
          )}
          {removing !== undefined && remove && (
            <Dialog
              title={`${props.removeLabel ?? parts.delete}: ${nameOf(removing)}`}
              onClose={() => setRemoving(undefined)}
            >
              <Form
                danger
                action={props.removeLabel ?? parts.delete}
                onCancel={() => setRemoving(undefined)}
                submit={async () => {
                  await remove(removing)
                  done(parts.deleted)
                }}
              >
                {() => <p>{parts.sure}</p>}
              </Form>
            </Dialog>
          )}
        </>
      )}
    </Panel>
  )
}

/** The `If-Match` header of a change, so that a change of another member in the meantime is a 409. */
export const ifMatch = (version: number) => ({ headers: { 'if-match': `"${version}"` } })

/** A text field of a form as a string; empty if it is absent. */
export const textOf = (fields: FormData, name: string): string => {
  const value = fields.get(name)
  return typeof value === 'string' ? value.trim() : ''
}
/** A password as it was typed: a space at an end belongs to it. */
export const passwordOf = (fields: FormData, name: string): string => {
  const value = fields.get(name)
  return typeof value === 'string' ? value : ''
}
/** A day of a form as the instant at which it begins in the site's zone. */
export const dayOfForm = (fields: FormData, name: string): string | undefined => {
  const day = textOf(fields, name)
  return day === '' ? undefined : new Date(instantOf(`${day}T00:00`, timeZone.value)).toISOString()
}
/** The lines of a field that are not empty. */
export const linesOf = (fields: FormData, name: string): string[] =>
  textOf(fields, name)
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
