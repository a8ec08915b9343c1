import { useState } from 'preact/hooks'
import { Dialog, Field, Form, toast } from '../parts/dialogs.js'
import { NewerVersion, useVersion } from '../parts/newer-version.js'
import { client, send } from '../state/client.js'
import { forget } from '../state/data.js'
import { siteQuery } from '../state/question.js'
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
  const edit = useVersion<Note>({
    record: note,
    load: async () =>
      (await send(client.GET('/api/annotations/{id}', { params: { path: { id: note?.id ?? 0 } } }))).data,
    save: async (version) => {
      const { text } = draft
      const at = new Date(instantOf(draft.at, timeZone.value)).toISOString()
      if (note === undefined)
        await send(client.POST('/api/annotations', { body: { site: siteQuery.value.site ?? 0, at, text } }))
      else
        await send(
          client.PATCH('/api/annotations/{id}', {
            params: { path: { id: note.id } },
            headers: { 'if-match': `"${version}"` },
            // A time that was not changed keeps its seconds.
            body: draft.at === draftOf(note).at ? { text } : { at, text },
          }),
        )
      // All of the page: the note may be of a time after the one until which the page was read.
      forget()
      onClose()
      toast(parts.saved)
    },
  })
  const { newer } = edit
  return (
    <Dialog title={note ? parts.note.change : parts.note.write} onClose={onClose}>
      {hasRole('member') ? (
        <Form action={parts.save} onCancel={onClose} submit={edit.store}>
          {(problem) => (
            <>
              <Field label={parts.note.text} name="text" problem={problem}>
                <input
                  name="text"
                  required
                  maxLength={500}
                  autofocus
                  value={draft.text}
                  onInput={(event) => setDraft({ ...draft, text: event.currentTarget.value })}
                />
              </Field>
              <Field label={parts.note.at} name="at" problem={problem}>
                <input
                  type="datetime-local"
                  name="at"
                  required
                  value={draft.at}
                  onInput={(event) => setDraft({ ...draft, at: event.currentTarget.value })}
                />
              </Field>
              {newer && (
                <NewerVersion
                  at={newer.at}
                  summary={newer.record.text}
                  onTake={() => {
                    setDraft(draftOf(newer.record))
                    edit.settle()
                  }}
                />
              )}
            </>
          )}
        </Form>
      ) : (
        <p>{parts.needsRole('member')}</p>
      )}
    </Dialog>
  )
}
