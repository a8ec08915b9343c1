import { useState } from 'preact/hooks'
import { Dialog, Form, toast } from '../parts/dialogs.js'
import { Input } from '../parts/fields.js'
import { NewerVersion, useVersion } from '../parts/newer-version.js'
import { forget } from '../state/data.js'
import { change, store } from '../state/records.js'
import { hasRole, timeZone } from '../state/session.js'
import { instantOf, localInput } from '../state/zone.js'
import { t } from '../texts/index.js'
import type { Note } from './notes.js'

/** A note as it is typed: `at` is local, in minutes. */
const draftOf = (note: Pick<Note, 'at' | 'text'>) => ({
  text: note.text,
  at: localInput(Date.parse(note.at), timeZone.value),
})

/** Writes a note by hand, or changes one, at a time of the site's zone. */
export function WriteNote({ note, onClose }: { note?: Note; onClose: () => void }) {
  const { parts } = t()
  const [draft, setDraft] = useState(() => draftOf(note ?? { text: '', at: new Date().toISOString() }))
  const edit = useVersion<Note>('/api/annotations', note, async (version) => {
    const { text } = draft
    const at = new Date(instantOf(draft.at, timeZone.value)).toISOString()
    // A time that was not changed keeps its seconds.
    if (note && draft.at === draftOf(note).at) await change('/api/annotations', { id: note.id, version }, { text })
    else await store('/api/annotations', { at, text }, note && { id: note.id, version })
    // All of the page: the note may be of a time after the one until which the page was read.
    forget()
    onClose()
    toast(parts.saved)
  })
  return (
    <Dialog title={note ? parts.note.change : parts.note.write} onClose={onClose}>
      {hasRole('member') ? (
        <Form action={parts.save} onCancel={onClose} submit={edit.store}>
          <Input
            label={parts.note.text}
            name="text"
            required
            maxLength={500}
            autofocus
            value={draft.text}
            onInput={(event) => setDraft({ ...draft, text: event.currentTarget.value })}
          />
          <Input
            label={parts.note.at}
            name="at"
            type="datetime-local"
            required
            value={draft.at}
            onInput={(event) => setDraft({ ...draft, at: event.currentTarget.value })}
          />
          <NewerVersion edit={edit} summary={({ text }) => text} onTake={(theirs) => setDraft(draftOf(theirs))} />
        </Form>
      ) : (
        <p>{parts.needsRole('member')}</p>
      )}
    </Dialog>
  )
}
