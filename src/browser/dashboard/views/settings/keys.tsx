import { useState } from 'preact/hooks'
import { textColumn } from '../../parts/columns.js'
import { Code, Field } from '../../parts/dialogs.js'
import { root } from '../../state/address.js'
import { client, send } from '../../state/client.js'
import { useRead } from '../../state/data.js'
import { formatDay } from '../../state/format.js'
import { site } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { dayOfForm, Records, textOf } from './records.js'

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
      intro={texts.intro}
      answer={{ ...answer, ...(rows ? { data: rows } : {}) }}
      path="/api/keys"
      role="admin"
      newLabel={texts.new}
      nameOf={({ name }) => name}
      keyOf={({ id }) => `${id}`}
      removeLabel={texts.revoke}
      remove={({ id }) => send(client.DELETE('/api/keys/{id}', { params: { path: { id } } }))}
      columns={[
        textColumn('name', texts.name),
        { key: 'prefix', head: texts.prefix, cell: ({ prefix }) => <span class="mono">{prefix}…</span>, wide: true },
        { key: 'scopes', head: texts.scopes, cell: ({ scopes }) => scopes.join(', '), wide: true },
        {
          key: 'expires',
          head: texts.expires,
          cell: ({ expires_at }) => (expires_at ? formatDay(expires_at) : texts.never),
        },
      ]}
      above={
        secret && (
          <div class="secret">
            <h3>{texts.secret}</h3>
            <p class="muted">{texts.once}</p>
            <Code text={secret} />
            <Code
              text={`curl -H "Authorization: Bearer ${secret}" "${root.href}api/stats/overview?site=${site.value?.id ?? 1}&range=7d"`}
            />
          </div>
        )
      }
      save={async (fields) => {
        const expires = dayOfForm(fields, 'expires_at')
        const { data } = await send(
          client.POST('/api/keys', {
            body: {
              name: textOf(fields, 'name'),
              scopes: SCOPES.filter((scope) => fields.getAll('scopes').includes(scope)),
              ...(site.value?.org === undefined ? {} : { org: site.value.org }),
              ...(fields.get('bound') === null || !site.value ? {} : { site: site.value.id }),
              ...(expires ? { expires_at: expires } : {}),
            },
          }),
        )
        setSecret(data.secret)
      }}
      form={(_, problem) => (
        <>
          <Field label={texts.name} name="name" problem={problem} hint={texts.nameHint}>
            <input name="name" required maxLength={100} autofocus />
          </Field>
          <fieldset class="field">
            <legend>{texts.scopes}</legend>
            {SCOPES.map((scope) => (
              <label class="check" key={scope}>
                <input type="checkbox" name="scopes" value={scope} defaultChecked={scope === 'stats:read'} />{' '}
                {texts.scope[scope]}
              </label>
            ))}
          </fieldset>
          <label class="check">
            <input type="checkbox" name="bound" defaultChecked /> {texts.bound(site.value?.name ?? '')}
          </label>
          <Field label={texts.expires} name="expires_at" problem={problem}>
            <input type="date" name="expires_at" />
          </Field>
        </>
      )}
    />
  )
}
