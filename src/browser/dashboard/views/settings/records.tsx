import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { LinkButton } from '../../parts/buttons.js'
import { act, Confirm, Dialog, Form, toast } from '../../parts/dialogs.js'
import { NewerVersion, useVersion } from '../../parts/newer-version.js'
import { Panel } from '../../parts/panel.js'
import { Absent } from '../../parts/states.js'
import { type Column, Table } from '../../parts/table.js'
import { type SwitchedList, Toggle } from '../../parts/toggle.js'
import type { Problem } from '../../state/client.js'
import { forget, useRead } from '../../state/data.js'
import { siteQuery } from '../../state/question.js'
import { type CreatedOf, type InputOf, type RecordList, remove, sendTest, store } from '../../state/records.js'
import { hasRole, me, type Role } from '../../state/session.js'
import { t } from '../../texts/index.js'

interface Row {
  id: number
  version?: number
}

interface RecordsProps<R extends Row> {
  title: string
  /** A sentence on their purpose; the buttons that make one and send a test, and what is said after a test. */
  texts: { intro: string; new?: string; test?: string; tested?: string }
  answer: { data?: readonly R[]; problem?: Problem; loading: boolean; stale: boolean; retry(): void }
  /** A part of the address that the list is read from; it is asked again after a change. */
  path: string
  /** The list that a record is read from again after a conflict. */
  list?: RecordList
  columns: readonly Column<R>[]
  nameOf: (row: R) => string
  /** Whether the records send e-mail: their panel then says if no mail server is set. */
  sendsMail?: boolean
  /** The least role that may change these records. */
  role: Role
  /** The fields of the form; `row` is the record to change. */
  form?: (row: R | undefined) => ComponentChildren
  save?: (fields: FormData, row: R | undefined) => Promise<void>
  canEdit?: boolean
  remove?: (row: R) => Promise<unknown>
  removeLabel?: string
  above?: ComponentChildren
  /** Whether the form of a new record is open at first. */
  startsNew?: boolean
}

/** A list of records with a dialog to make and change one, and a question before one is deleted. */
export function Records<R extends Row>(props: RecordsProps<R>) {
  const { title, texts, answer, columns, nameOf, role, form, above, list } = props
  const { parts } = t()
  const mayChange = hasRole(role)
  const [editing, setEditing] = useState<{ row?: R } | undefined>(props.startsNew && mayChange ? {} : undefined)
  const [removing, setRemoving] = useState<R>()
  const { data: rows = [] } = answer
  const removeLabel = props.removeLabel ?? parts.delete
  const close = () => {
    setEditing(undefined)
    setRemoving(undefined)
  }
  const button = (row: R, label: string, run: () => void) => (
    <LinkButton aria-label={`${label}: ${nameOf(row)}`} onClick={run}>
      {label}
    </LinkButton>
  )
  const test = async (kind: RecordList, { id }: R) =>
    toast((await sendTest(kind, id)) ? (texts.tested ?? '') : t().settings.noMailServer)
  const acts: Column<R> = {
    key: 'acts',
    head: <span class="visually-hidden">{parts.edit}</span>,
    right: true,
    cell: (row) => (
      <span class="row-actions">
        {texts.test && list && button(row, texts.test, () => void act(async () => test(list, row)))}
        {props.canEdit && button(row, parts.edit, () => setEditing({ row }))}
        {props.remove && button(row, removeLabel, () => setRemoving(row))}
      </span>
    ),
  }
  return (
    <Panel
      title={title}
      answers={[answer]}
      right={
        mayChange && texts.new && form ? (
          <button type="button" class="button" onClick={() => setEditing({})}>
            {texts.new}
          </button>
        ) : (
          !mayChange && <span class="muted small">{parts.needsRole(role)}</span>
        )
      }
    >
      {() => (
        <>
          <p class="muted">{texts.intro}</p>
          {props.sendsMail && <NoMailServer />}
          {above}
          {rows.length > 0 && (
            <Table
              label={title}
              rows={rows}
              rowKey={({ id }) => `${id}`}
              columns={mayChange ? [...columns, acts] : columns}
            />
          )}
          {editing && <Editor {...editing} records={props} onClose={close} />}
          {removing !== undefined && (
            <Confirm
              title={`${removeLabel}: ${nameOf(removing)}`}
              text={parts.sure}
              action={removeLabel}
              onClose={close}
              submit={async () => {
                await props.remove?.(removing)
                forget(props.path)
                close()
                toast(parts.deleted)
              }}
            />
          )}
        </>
      )}
    </Panel>
  )
}

/** Says before anything is asked for that no e-mail can go out; nothing where a mail server is set. */
const NoMailServer = () => (me.value?.mail_server === false ? <Absent>{t().settings.noMailServer}</Absent> : null)

interface EditorProps<R extends Row> {
  row?: R
  records: RecordsProps<R>
  onClose: () => void
}

function Editor<R extends Row>({ row, records, onClose }: EditorProps<R>) {
  const { list, path, form, save, nameOf, texts, title } = records
  const { parts } = t()
  const close = () => {
    forget(path)
    onClose()
  }
  const edit = useVersion<R>(list, row, async (version, fields) => {
    await save?.(fields, row && { ...row, ...(version === undefined ? {} : { version }) })
    close()
    toast(parts.saved)
  })
  return (
    <Dialog title={row ? nameOf(row) : (texts.new ?? title)} onClose={onClose}>
      <Form action={row ? parts.save : parts.create} onCancel={onClose} submit={edit.store}>
        {form?.(row)}
        <NewerVersion edit={edit} summary={nameOf} onTake={close} />
      </Form>
    </Dialog>
  )
}

/** Reads a list of records of the site, and returns the properties that all such lists give to `Records`. */
export function useSiteRecords<L extends RecordList>(list: L) {
  const answer = useRead(list, { site: siteQuery.value.site })
  return { answer, path: list, list, canEdit: true, remove: (row: Row) => remove(list, row) }
}

/** Stores the record that a form describes; `onCreated` gets a new one. */
export const saveTo =
  <L extends RecordList>(list: L, read: (fields: FormData) => InputOf<L>, onCreated?: (made: CreatedOf<L>) => void) =>
  async (fields: FormData, row: Row | undefined): Promise<void> => {
    const made = await store(list, read(fields), row)
    if (made) onCreated?.(made)
  }

/** The column of switches; `key` is the field that names a record. */
export const switchColumn = <K extends string>(
  list: SwitchedList,
  key: K,
): Column<{ id: number; version: number; enabled: boolean } & { [N in K]: string }> => ({
  key: 'enabled',
  head: t().settings.flags.state,
  cell: (row) => <Toggle label={row[key]} list={list} of={row} />,
})
