import { useState } from 'preact/hooks'
import { dayColumn, textColumn } from '../../parts/columns.js'
import { Secret } from '../../parts/dialogs.js'
import { Check, CheckList, checkedOf, dayOfForm, Input, isChecked, textOf } from '../../parts/fields.js'
import { root } from '../../state/address.js'
import { client, send } from '../../state/client.js'
import { useRead } from '../../state/data.js'
import { site } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { Records } from './records.js'

const SCOPES = ['stats:read', 'manage:read', 'manage:write', 'ingest:write'] as const

/** API keys of the organisation. A new key's secret is shown once. */
export function Keys() {
  const texts = t().settings.keys
  const answer = useRead('/api/keys', { org: site.value?.org })
  const [secret, setSecret] = useState<string>()
  const rows = answer.data?.filter(({ revoked_at }) => revoked_at === undefined)
  return (
    <Records
      title={t().settings.sections.keys}
      texts={texts}
      answer={{ ...answer, ...(rows ? { data: rows } : {}) }}
      path="/api/keys"
      role="admin"
      nameOf={({ name }) => name}
      removeLabel={texts.revoke}
      remove={({ id }) => send(client.DELETE('/api/keys/{id}', { params: { path: { id } } }))}
      columns={[
        textColumn('name', t().parts.name),
        { key: 'prefix', head: texts.prefix, cell: ({ prefix }) => <span class="mono">{prefix}…</span>, wide: true },
        { key: 'scopes', head: texts.scopes, cell: ({ scopes }) => scopes.join(', '), wide: true },
        dayColumn('expires_at', t().parts.ends),
      ]}
      above={
        secret && (
          <Secret
            title={texts.secret}
            text={texts.once}
            codes={[
              secret,
              `curl -H "Authorization: Bearer ${secret}" "${root.href}api/stats/overview?site=${site.value?.id ?? 1}&range=7d"`,
            ]}
          />
        )
      }
      save={async (fields) => {
        const expires = dayOfForm(fields, 'expires_at')
        const { data } = await send(
          client.POST('/api/keys', {
            body: {
              name: textOf(fields, 'name'),
              scopes: checkedOf(fields, 'scopes', SCOPES),
              ...(site.value?.org === undefined ? {} : { org: site.value.org }),
              ...(isChecked(fields, 'bound') && site.value ? { site: site.value.id } : {}),
              ...(expires ? { expires_at: expires } : {}),
            },
          }),
        )
        setSecret(data.secret)
      }}
      form={() => (
        <>
          <Input label={t().parts.name} hint={texts.nameHint} name="name" required maxLength={100} autofocus />
          <CheckList
            label={texts.scopes}
            name="scopes"
            choices={SCOPES.map((scope) => [scope, texts.scope[scope]])}
            checked={['stats:read']}
          />
          <Check label={texts.bound(site.value?.name ?? '')} name="bound" defaultChecked />
          <Input label={t().parts.ends} name="expires_at" type="date" />
        </>
      )}
    />
  )
}
