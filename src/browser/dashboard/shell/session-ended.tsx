import { useEffect, useState } from 'preact/hooks'
import { Dialog, Form, toast } from '../parts/dialogs.js'
import { Input, textOf } from '../parts/fields.js'
import { client, isProblem, send, sessionEndedAt } from '../state/client.js'
import { forget } from '../state/data.js'
import { formatTime } from '../state/format.js'
import { me, signInAddress } from '../state/session.js'
import { t } from '../texts/index.js'

const close = () => {
  sessionEndedAt.value = undefined
}

/** Goes on with a session that exists again: all that is on screen is asked again, and what was typed stays. */
function goOn(): void {
  close()
  forget()
  toast(t().shell.expired.again)
}

/** Looks whether the person has signed in in another tab meanwhile. */
async function lookAgain(): Promise<void> {
  const { data } = await client.GET('/api/auth/me').catch(() => ({ data: undefined }))
  if (data) goOn()
}

/**
 * Says that the session has ended, and signs in over the page. The page below stays as it is, with all that was typed in
 * its forms. A new tab has the other ways in, such as a printed link; on the return from there this dialog closes.
 */
export function SessionEnded({ at }: { at: Date }) {
  const { expired, locked } = t().shell
  const [needsCode, setNeedsCode] = useState(false)
  useEffect(() => {
    const onReturn = () => document.visibilityState === 'visible' && void lookAgain()
    document.addEventListener('visibilitychange', onReturn)
    window.addEventListener('focus', onReturn)
    return () => {
      document.removeEventListener('visibilitychange', onReturn)
      window.removeEventListener('focus', onReturn)
    }
  }, [])
  const submit = async (fields: FormData) => {
    const totp = textOf(fields, 'totp')
    const body = { email: textOf(fields, 'email'), password: textOf(fields, 'password'), ...(totp ? { totp } : {}) }
    try {
      const person = await send(client.POST('/api/auth/login', { body }))
      // Another person must not save what this one typed.
      const isOther = person.data.user.id !== me.value?.user.id
      if (isOther) location.reload()
      else goOn()
    } catch (error) {
      if (isProblem(error) && error.field === 'totp') setNeedsCode(true)
      throw isProblem(error) && error.status === 401 && error.field === undefined
        ? { ...error, code: 'wrong_password', message: expired.wrong }
        : error
    }
  }
  return (
    <Dialog title={expired.title} onClose={close}>
      <p>{expired.text(formatTime(at))}</p>
      {me.value?.user.has_password && (
        <Form action={expired.action} submit={submit} onCancel={close} cancelLabel={expired.later}>
          <Input
            label={t().settings.members.email}
            name="email"
            type="email"
            required
            autocomplete="username"
            defaultValue={me.value?.user.email}
          />
          <Input
            label={locked.password}
            name="password"
            type="password"
            required
            autofocus
            autocomplete="current-password"
          />
          {needsCode && <Input label={expired.code} name="totp" autocomplete="one-time-code" autofocus />}
        </Form>
      )}
      <p class="muted">
        {expired.otherWays}{' '}
        <a href={signInAddress()} target="_blank" rel="noopener" data-leave>
          {expired.newTab}
        </a>
      </p>
    </Dialog>
  )
}
