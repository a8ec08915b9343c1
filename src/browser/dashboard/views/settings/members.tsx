import { useState } from 'preact/hooks'
import { textColumn } from '../../parts/columns.js'
import { Secret } from '../../parts/dialogs.js'
import { Input, Select, textOf } from '../../parts/fields.js'
import { client, send } from '../../state/client.js'
import { useRead } from '../../state/data.js'
import { formatDay } from '../../state/format.js'
import { hasRole, site } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { Records } from './records.js'

const ROLES = ['viewer', 'member', 'admin', 'owner'] as const
const toRole = (text: string) => ROLES.find((role) => role === text) ?? 'viewer'

const RoleField = ({ value = 'viewer' }: { value?: string | undefined }) => {
  const { role: label, roles } = t().settings.members
  return <Select label={label} name="role" value={value} choices={ROLES.map((role) => [role, roles[role]])} />
}

/** The members of the organisation and the invitations that wait. */
export function Members() {
  const texts = t().settings.members
  const org = site.value?.org ?? 0
  const options = { params: { id: org } }
  const { data, ...asked } = useRead('/api/orgs/{id}/members', org > 0 ? {} : undefined, options)
  const invitations = useRead('/api/orgs/{id}/invitations', org > 0 && hasRole('admin') ? {} : undefined, options)
  const [{ link, mailed }, setMade] = useState<{ link?: string; mailed?: boolean }>({})
  return (
    <>
      <Records
        title={t().settings.sections.members}
        texts={texts}
        answer={{
          ...asked,
          ...(data ? { data: data.map((row) => ({ ...row, id: row.user })) } : {}),
        }}
        path="/members"
        role="admin"
        canEdit
        nameOf={({ email }) => email}
        removeLabel={t().behaviour.goals.remove}
        remove={({ user }) =>
          send(client.DELETE('/api/orgs/{id}/members/{user}', { params: { path: { id: org, user } } }))
        }
        columns={[
          textColumn('email', texts.email),
          textColumn('name', t().parts.name, { wide: true }),
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
        form={(row) => <RoleField value={row?.role} />}
      />
      <Records
        title={texts.invitations}
        texts={{ intro: texts.invitationsIntro, new: texts.invite }}
        answer={invitations}
        path="/invitations"
        sendsMail
        role="admin"
        nameOf={({ email }) => email}
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
        above={link && <Secret text={mailed ? texts.link : texts.unmailedLink} codes={[link]} />}
        save={async (fields) => {
          const { data } = await send(
            client.POST('/api/orgs/{id}/invitations', {
              params: { path: { id: org } },
              body: { email: textOf(fields, 'email'), role: toRole(textOf(fields, 'role')) },
            }),
          )
          setMade({ link: data.link, mailed: data.mail_server })
        }}
        form={() => (
          <>
            <Input label={texts.email} name="email" type="email" required autofocus />
            <RoleField />
          </>
        )}
      />
    </>
  )
}
