import { useState } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { Code, Form, Secret, toast } from '../../parts/dialogs.js'
import { Field, passwordOf, textOf } from '../../parts/fields.js'
import { Panel } from '../../parts/panel.js'
import { client, send } from '../../state/client.js'
import { me } from '../../state/session.js'
import { t } from '../../texts/index.js'

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
    <Field label={texts.current}>
      <input type="password" name="password" required autocomplete="current-password" />
    </Field>
  )
  const password = (fields: FormData) => (hasPassword ? { password: passwordOf(fields, 'password') } : {})
  return (
    <Panel title={texts.totp} aside={isOn ? texts.totpOn : texts.totpOff}>
      {() => (
        <>
          {codes && <Secret title={texts.codes} text={texts.codesText} codes={[codes.join('\n')]} />}
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
              {passwordField}
              <CodeField />
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
              <p class="muted">{texts.totpScan}</p>
              <img class="qr" alt={texts.totpQr} src={toImage(enrolment.qr)} />
              <Code text={enrolment.secret} />
              <CodeField name="totp" />
            </Form>
          ) : (
            <Form
              action={texts.totpEnable}
              submit={async (fields) => {
                const { data } = await send(client.POST('/api/auth/totp/enroll', { body: password(fields) }))
                setEnrolment(data)
              }}
            >
              <p class="muted">{texts.totpText}</p>
              {passwordField}
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

const CodeField = ({ name }: { name?: string }) => (
  <Field label={t().settings.account.code} name={name}>
    <input name="totp" required inputMode="numeric" autocomplete="one-time-code" maxLength={32} />
  </Field>
)
