import { useState } from 'preact/hooks'
import { LinkButton } from '../../parts/buttons.js'
import { act, Form, toast } from '../../parts/dialogs.js'
import { Input, passwordOf, textOf } from '../../parts/fields.js'
import { Cut } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { Table } from '../../parts/table.js'
import { client, send } from '../../state/client.js'
import { forget, useRead } from '../../state/data.js'
import { formatInstant } from '../../state/format.js'
import { me } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { TwoFactor } from './two-factor.js'

/** The person's own name, password, second factor and sessions. */
export function Account() {
  const { parts, settings } = t()
  const texts = settings.account
  const user = me.value?.user
  if (!user) return null
  return (
    <>
      <Panel title={settings.sections.account}>
        {() => (
          <Form
            action={parts.save}
            submit={async (fields) => {
              const { data } = await send(client.PATCH('/api/auth/me', { body: { name: textOf(fields, 'name') } }))
              me.value = data
              toast(parts.saved)
            }}
          >
            <p class="muted">{user.email}</p>
            <Input
              label={t().parts.name}
              name="name"
              required
              maxLength={100}
              defaultValue={user.name}
              autocomplete="name"
            />
          </Form>
        )}
      </Panel>
      <Panel title={t().shell.locked.password}>
        {() => (
          <Form
            action={texts.changePassword}
            submit={async (fields) => {
              const current = passwordOf(fields, 'current_password')
              await send(
                client.POST('/api/auth/change-password', {
                  body: { password: passwordOf(fields, 'password'), ...(current ? { current_password: current } : {}) },
                }),
              )
              toast(parts.saved)
            }}
          >
            {user.has_password && (
              <Input
                label={texts.current}
                name="current_password"
                type="password"
                required
                autocomplete="current-password"
              />
            )}
            <Input
              label={texts.next}
              name="password"
              type="password"
              required
              minLength={10}
              autocomplete="new-password"
            />
          </Form>
        )}
      </Panel>
      <TwoFactor />
      <Sessions />
    </>
  )
}

/** Tokens of user agents, each with the name of the browser or system that sends it. The first that fits counts. */
const BROWSERS = [
  ['Edg', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const
const SYSTEMS = [
  ['iPhone', 'iOS'],
  ['iPad', 'iPadOS'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Macintosh', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const

/** Names the browser and the system of a user agent, because user agents begin alike; others stay as they are. */
function nameOfAgent(agent: string): string {
  const [browser, system] = [BROWSERS, SYSTEMS].map((list) => list.find(([token]) => agent.includes(token))?.[1])
  return browser && system ? `${browser}, ${system}` : agent
}

function Sessions() {
  const texts = t().settings.account
  const answer = useRead('/api/auth/sessions', {})
  const [busy, setBusy] = useState(false)
  const end = async (id?: number) => {
    setBusy(true)
    await act(
      () =>
        send(
          id === undefined
            ? client.DELETE('/api/auth/sessions')
            : client.DELETE('/api/auth/sessions/{id}', { params: { path: { id } } }),
        ),
      texts.ended,
    )
    forget('/api/auth/sessions')
    setBusy(false)
  }
  return (
    <Panel
      title={texts.sessions}
      answers={[answer]}
      right={
        <LinkButton disabled={busy} onClick={() => void end()}>
          {texts.endOthers}
        </LinkButton>
      }
    >
      {() => (
        <Table
          label={texts.sessions}
          rows={answer.data ?? []}
          rowKey={({ id }) => `${id}`}
          columns={[
            {
              key: 'agent',
              head: t().devices.browser,
              cell: ({ agent = '' }) => <Cut text={nameOfAgent(agent)} whole={agent} />,
            },
            { key: 'ip', head: texts.address, wide: true, cell: ({ ip }) => <span class="mono">{ip ?? ''}</span> },
            {
              key: 'seen',
              head: t().sessions.lastSeen,
              cell: ({ last_seen_at, current }) => (current ? texts.this : formatInstant(last_seen_at)),
            },
            {
              key: 'end',
              head: <span class="visually-hidden">{texts.end}</span>,
              right: true,
              cell: ({ id, current }) =>
                current ? null : (
                  <LinkButton disabled={busy} onClick={() => void end(id)}>
                    {texts.end}
                  </LinkButton>
                ),
            },
          ]}
        />
      )}
    </Panel>
  )
}
