import { useState } from 'preact/hooks'
import { textColumn } from '../../parts/columns.js'
import { Code, Field, Select } from '../../parts/dialogs.js'
import { client, send } from '../../state/client.js'
import { useRead } from '../../state/data.js'
import { formatDay } from '../../state/format.js'
import { hasRole, site } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { Records, textOf } from './records.js'

const ROLES = ['viewer', 'member', 'admin', 'owner'] as const
const toRole = (text: string) => ROLES.find((role) => role === text) ?? 'viewer'

const RoleSelect = ({ value }: { value: string }) => (
  <Select name="role" value={value} choices={ROLES.map((role) => [role, t().settings.members.roles[role]])} />
)

/** The members of the organisation and the invitations that wait. Long because the fields stand beside the call that sends them. */
export function Members() {
  const texts = t().settings.members
  const org = site.value?.org ?? 0
  const options = { params: { id: org } }
  const members = useRead('/api/orgs/{id}/members', org > 0 ? {} : undefined, options)
  const invitations = useRead('/api/orgs/{id}/invitations', org > 0 && hasRole('admin') ? {} : undefined, options)
  const [link, setLink] = useState<string>()
  return (
    <>
      <Records
        title={t().settings.sections.members}
        intro={texts.intro}
        answer={members}
        path="/members"
        role="admin"
        canEdit
        nameOf={({ email }) => email}
        keyOf={({ user }) => `${user}`}
        removeLabel={texts.remove}
        remove={({ user }) =>
          send(client.DELETE('/api/orgs/{id}/members/{user}', { params: { path: { id: org, user } } }))
        }
        columns={[
          textColumn('email', texts.email),
          textColumn('name', texts.name, { wide: true }),
          { key: 'role', head: texts.role, cell: ({ role }) => texts.roles[role] },
          { key: 'since', head: texts.since, wide: true, cell: ({ since }) => formatDay(since) },
        ]}
        save={async (fields, row) => {
          if (!row) return
          await send(
            client.PATCH('/api/orgs/{id}/members/{user}', {
              params: { path: { id: org, user: row.user } },
              body: { role: toRole(textOf(fields, 'role')) },
            }),
          )
        }}
        form={(row, problem) => (
          <Field label={texts.role} name="role" problem={problem}>
            <RoleSelect value={row?.role ?? 'viewer'} />
          </Field>
        )}
      />
      <Records
        title={texts.invitations}
        intro={texts.invitationsIntro}
        answer={invitations}
        path="/invitations"
        role="admin"
        newLabel={texts.invite}
        nameOf={({ email }) => email}
        keyOf={({ id }) => `${id}`}
        removeLabel={texts.withdraw}
        remove={({ id }) =>
          send(
            client.DELETE('/api/orgs/{id}/invitations/{invitation}', { params: { path: { id: org, invitation: id } } }),
          )
        }
        columns={[
          textColumn('email', texts.email),
          { key: 'role', head: texts.role, cell: ({ role }) => texts.roles[role] },
          { key: 'until', head: texts.until, cell: ({ expires_at }) => formatDay(expires_at) },
        ]}
        above={
          link && (
            <div class="secret">
              <p class="muted">{texts.link}</p>
              <Code text={link} />
            </div>
          )
        }
        save={async (fields) => {
          const { data } = await send(
            client.POST('/api/orgs/{id}/invitations', {
              params: { path: { id: org } },
              body: { email: textOf(fields, 'email'), role: toRole(textOf(fields, 'role')) },
            }),
          )
          setLink(data.link)
        }}
        form={(_, problem) => (
          <>
            <Field label={texts.email} name="email" problem={problem}>
              <input type="email" name="email" required autofocus />
            </Field>
            <Field label={texts.role} name="role" problem={problem}>
              <RoleSelect value="viewer" />
            </Field>
          </>
        )}
      />
    </>
  )
}
