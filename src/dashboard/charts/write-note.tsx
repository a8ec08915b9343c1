import { Dialog, Field, Form, toast } from '../parts/dialogs.js'
import { client, send } from '../state/client.js'
import { forget } from '../state/data.js'
import { siteQuery } from '../state/question.js'
import { hasRole, timeZone } from '../state/session.js'
import { instantOf, localInput } from '../state/zone.js'
import { t } from '../texts/index.js'

/** Writes a note by hand, at a time of the site's zone. */
export function WriteNote({ onClose }: { onClose: () => void }) {
  const { parts } = t()
  if (!hasRole('member'))
    return (
      <Dialog title={parts.note.write} onClose={onClose}>
        <p>{parts.needsRole('member')}</p>
      </Dialog>
    )
  return (
    <Dialog title={parts.note.write} onClose={onClose}>
      <Form
        action={parts.save}
        onCancel={onClose}
        submit={async (fields) => {
          const body = {
            site: siteQuery.value.site ?? 0,
            at: new Date(instantOf(`${fields.get('at')}`, timeZone.value)).toISOString(),
            text: `${fields.get('text')}`,
          }
          await send(client.POST('/api/annotations', { body }))
          forget('/api/annotations')
          onClose()
          toast(parts.saved)
        }}
      >
        {(problem) => (
          <>
            <Field label={parts.note.text} name="text" problem={problem}>
              <input name="text" required maxLength={500} autofocus />
            </Field>
            <Field label={parts.note.at} name="at" problem={problem}>
              <input type="datetime-local" name="at" required value={localInput(Date.now(), timeZone.value)} />
            </Field>
          </>
        )}
      </Form>
    </Dialog>
  )
}
