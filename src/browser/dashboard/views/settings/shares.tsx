import { Code, Field } from '../../parts/dialogs.js'
import { Cut } from '../../parts/names.js'
import { root } from '../../state/address.js'
import { client, send } from '../../state/client.js'
import { useRead } from '../../state/data.js'
import { formatDay } from '../../state/format.js'
import { site, timeZone } from '../../state/session.js'
import { dayOf } from '../../state/zone.js'
import { t } from '../../texts/index.js'
import { dayOfForm, ifMatch, linesOf, passwordOf, Records, textOf } from './records.js'

const SCOPES = [
  ...([
    'overview',
    'timeseries',
    'realtime',
    'pages',
    'sources',
    'locations',
    'devices',
    'breakdown',
    'events',
  ] as const),
  ...(['goals', 'funnel', 'journeys', 'retention', 'performance', 'errors', 'agents'] as const),
]
/** Reads that say nothing about single persons and that a first view needs. */
const USUAL: readonly string[] = [
  'overview',
  'timeseries',
  'realtime',
  'pages',
  'sources',
  'locations',
  'devices',
  'agents',
]

/**
 * Links that show chosen reads without an account, in a page of their own, in a frame, or as a badge.
 * Long because the fields stand beside the call that sends them.
 */
export function Shares() {
  const texts = t().settings.shares
  const answer = useRead('/api/shares', { site: site.value?.id })
  return (
    <Records
      title={t().settings.sections.shares}
      intro={texts.intro}
      answer={answer}
      path="/api/shares"
      role="admin"
      canEdit
      newLabel={texts.new}
      nameOf={({ name }) => name}
      keyOf={({ id }) => `${id}`}
      remove={({ id, version }) =>
        send(client.DELETE('/api/shares/{id}', { params: { path: { id } }, ...ifMatch(version) }))
      }
      columns={[
        {
          key: 'name',
          head: texts.name,
          cell: ({ name, slug }) => (
            <a class="cut" href={`${root.href}share/${slug}`} target="_blank" rel="noreferrer">
              {name} ↗
            </a>
          ),
        },
        {
          key: 'scopes',
          head: texts.scopes,
          wide: true,
          cell: ({ scopes }) => <Cut text={scopes.map((scope) => texts.scope[scope]).join(', ')} />,
        },
        {
          key: 'password',
          head: texts.password,
          width: '14%',
          cell: ({ password }) => (password ? texts.yes : texts.no),
        },
        {
          key: 'expires',
          head: texts.expires,
          width: '14%',
          cell: ({ expires_at }) => (expires_at ? formatDay(expires_at) : texts.never),
        },
      ]}
      above={answer.data?.map((share) => (
        <details key={share.id}>
          <summary>{texts.addresses(share.name)}</summary>
          <Code text={`${root.href}share/${share.slug}`} />
          {share.embed?.length ? (
            <Code text={`<iframe src="${root.href}share/${share.slug}?embed=1" width="100%" height="800"></iframe>`} />
          ) : null}
          {share.badge && <Code text={`<img src="${root.href}api/share/${share.slug}/badge.svg" alt="">`} />}
        </details>
      ))}
      save={async (fields, row) => {
        const expires = dayOfForm(fields, 'expires_at')
        const password = passwordOf(fields, 'password')
        const shape = {
          name: textOf(fields, 'name'),
          scopes: SCOPES.filter((scope) => fields.getAll('scopes').includes(scope)),
          embed: linesOf(fields, 'embed'),
          badge: fields.get('badge') !== null,
        }
        if (row)
          await send(
            client.PATCH('/api/shares/{id}', {
              params: { path: { id: row.id } },
              body: {
                ...shape,
                ...(password ? { password } : fields.get('no_password') === null ? {} : { password: null }),
                expires_at: expires ?? null,
              },
              ...ifMatch(row.version),
            }),
          )
        else
          await send(
            client.POST('/api/shares', {
              body: {
                site: site.value?.id ?? 0,
                ...shape,
                ...(password ? { password } : {}),
                ...(expires ? { expires_at: expires } : {}),
              },
            }),
          )
      }}
      form={(row, problem) => (
        <>
          <Field label={texts.name} name="name" problem={problem}>
            <input name="name" required maxLength={100} defaultValue={row?.name ?? ''} autofocus />
          </Field>
          <fieldset class="field">
            <legend>{texts.scopes}</legend>
            <div class="checks">
              {SCOPES.map((scope) => (
                <label class="check" key={scope}>
                  <input
                    type="checkbox"
                    name="scopes"
                    value={scope}
                    defaultChecked={(row?.scopes ?? USUAL).includes(scope)}
                  />{' '}
                  {texts.scope[scope]}
                </label>
              ))}
            </div>
          </fieldset>
          <Field
            label={texts.password}
            name="password"
            problem={problem}
            hint={row?.password ? texts.passwordKept : texts.passwordHint}
          >
            <input type="password" name="password" minLength={8} maxLength={200} autocomplete="new-password" />
          </Field>
          {row?.password && (
            <label class="check">
              <input type="checkbox" name="no_password" /> {texts.noPassword}
            </label>
          )}
          <Field label={texts.expires} name="expires_at" problem={problem}>
            <input
              type="date"
              name="expires_at"
              defaultValue={row?.expires_at ? dayOf(Date.parse(row.expires_at), timeZone.value) : ''}
            />
          </Field>
          <Field label={texts.embed} name="embed" problem={problem} hint={texts.embedHint}>
            <textarea name="embed" rows={2} defaultValue={row?.embed?.join('\n') ?? ''} />
          </Field>
          <label class="check">
            <input type="checkbox" name="badge" defaultChecked={row?.badge ?? false} /> {texts.badge}
          </label>
        </>
      )}
    />
  )
}
