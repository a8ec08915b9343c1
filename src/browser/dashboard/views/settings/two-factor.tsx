import { useState } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { Code, Field, Form, toast } from '../../parts/dialogs.js'
import { Panel } from '../../parts/panel.js'
import { client, send } from '../../state/client.js'
import { me } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { passwordOf, textOf } from './records.js'

interface Enrolment {
  secret: string
  uri: string
  qr: string
}

async function reloadMe(): Promise<void> {
  const { data } = await send(client.GET('/api/auth/me'))
  me.value = data satisfies DataOf<'/api/auth/me'>
}

/**
 * The second factor: enrolled by a QR code, confirmed by a first code, kept by recovery codes that are shown once.
 * Long because its three forms follow one another.
 */
export function TwoFactor() {
  const texts = t().settings.account
  const [enrolment, setEnrolment] = useState<Enrolment>()
  const [codes, setCodes] = useState<readonly string[]>()
  const hasPassword = me.value?.user.has_password
  const isOn = me.value?.user.totp
  const passwordField = hasPassword && (
    <Field label={texts.current} name="password">
      <input type="password" name="password" required autocomplete="current-password" />
    </Field>
  )
  const password = (fields: FormData) => (hasPassword ? { password: passwordOf(fields, 'password') } : {})
  return (
    <Panel title={texts.totp} aside={isOn ? texts.totpOn : texts.totpOff}>
      {() => (
        <>
          {codes && (
            <div class="secret">
              <h3>{texts.codes}</h3>
              <p class="muted">{texts.codesText}</p>
              <Code text={codes.join('\n')} />
            </div>
          )}
          {isOn ? (
            <Form
              danger
              action={texts.totpDisable}
              submit={async (fields) => {
                await send(
                  client.POST('/api/auth/totp/disable', {
                    body: { ...password(fields), totp: textOf(fields, 'totp') },
                  }),
                )
                await reloadMe()
                setCodes(undefined)
                toast(t().parts.saved)
              }}
            >
              {() => (
                <>
                  {passwordField}
                  <CodeField />
                </>
              )}
            </Form>
          ) : enrolment ? (
            <Form
              action={texts.totpConfirm}
              onCancel={() => setEnrolment(undefined)}
              submit={async (fields) => {
                const { data } = await send(
                  client.POST('/api/auth/totp/confirm', { body: { totp: textOf(fields, 'totp') } }),
                )
                setCodes(data.recovery_codes)
                setEnrolment(undefined)
                await reloadMe()
              }}
            >
              {(problem) => (
                <>
                  <p class="muted">{texts.totpScan}</p>
                  <img class="qr" alt={texts.totpQr} src={toImage(enrolment.qr)} />
                  <Code text={enrolment.secret} />
                  <CodeField problem={problem} />
                </>
              )}
            </Form>
          ) : (
            <Form
              action={texts.totpEnable}
              submit={async (fields) => {
                const { data } = await send(client.POST('/api/auth/totp/enroll', { body: password(fields) }))
                setEnrolment(data)
              }}
            >
              {() => (
                <>
                  <p class="muted">{texts.totpText}</p>
                  {passwordField}
                </>
              )}
            </Form>
          )}
        </>
      )}
    </Panel>
  )
}

/** The API draws the code as SVG, or already as an address of an image. */
const toImage = (qr: string): string =>
  qr.startsWith('data:') ? qr : `data:image/svg+xml;charset=utf-8,${encodeURIComponent(qr)}`

const CodeField = ({ problem }: { problem?: Parameters<typeof Field>[0]['problem'] }) => (
  <Field label={t().settings.account.code} name="totp" problem={problem}>
    <input name="totp" required inputMode="numeric" autocomplete="one-time-code" maxLength={32} />
  </Field>
)
