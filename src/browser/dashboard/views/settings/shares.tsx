import { Code } from '../../parts/dialogs.js'
import {
  Check,
  CheckList,
  checkedOf,
  dayOfForm,
  Input,
  isChecked,
  Lines,
  linesOf,
  passwordOf,
  textOf,
} from '../../parts/fields.js'
import { Cut } from '../../parts/names.js'
import { root } from '../../state/address.js'
import { formatDay } from '../../state/format.js'
import { timeZone } from '../../state/session.js'
import { dayOf } from '../../state/zone.js'
import { t } from '../../texts/index.js'
import { Records, saveTo, useSiteRecords } from './records.js'

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

/** Links that show chosen reads without an account, in a page of their own, in a frame, or as a badge. Long because of its columns. */
export function Shares() {
  const texts = t().settings.shares
  const records = useSiteRecords('/api/shares')
  return (
    <Records
      {...records}
      title={t().settings.sections.shares}
      texts={texts}
      role="admin"
      nameOf={({ name }) => name}
      columns={[
        {
          key: 'name',
          head: t().parts.name,
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
          head: t().shell.locked.password,
          width: '14%',
          cell: ({ password }) => (password ? t().shell.yes : t().shell.no),
        },
        {
          key: 'expires',
          head: t().parts.ends,
          width: '14%',
          cell: ({ expires_at }) => (expires_at ? formatDay(expires_at) : t().parts.never),
        },
      ]}
      above={records.answer.data?.map((share) => (
        <details key={share.id}>
          <summary>{texts.addresses(share.name)}</summary>
          <Code text={`${root.href}share/${share.slug}`} />
          {share.embed?.length ? (
            <Code text={`<iframe src="${root.href}share/${share.slug}?embed=1" width="100%" height="800"></iframe>`} />
          ) : null}
          {share.badge && <Code text={`<img src="${root.href}api/share/${share.slug}/badge.svg" alt="">`} />}
        </details>
      ))}
      save={saveTo('/api/shares', (fields) => {
        const password = passwordOf(fields, 'password')
        return {
          name: textOf(fields, 'name'),
          scopes: checkedOf(fields, 'scopes', SCOPES),
          embed: linesOf(fields, 'embed'),
          badge: isChecked(fields, 'badge'),
          ...(password ? { password } : isChecked(fields, 'no_password') ? { password: null } : {}),
          expires_at: dayOfForm(fields, 'expires_at') ?? null,
        }
      })}
      form={(row) => (
        <>
          <Input label={t().parts.name} name="name" required maxLength={100} defaultValue={row?.name} autofocus />
          <CheckList
            label={texts.scopes}
            name="scopes"
            class="checks"
            choices={SCOPES.map((scope) => [scope, texts.scope[scope]])}
            checked={row?.scopes ?? USUAL}
          />
          <Input
            label={t().shell.locked.password}
            hint={row?.password ? texts.passwordKept : texts.passwordHint}
            name="password"
            type="password"
            minLength={8}
            maxLength={200}
            autocomplete="new-password"
          />
          {row?.password && <Check label={texts.noPassword} name="no_password" />}
          <Input
            label={t().parts.ends}
            name="expires_at"
            type="date"
            defaultValue={row?.expires_at && dayOf(Date.parse(row.expires_at), timeZone.value)}
          />
          <Lines label={texts.embed} hint={texts.embedHint} name="embed" rows={2} lines={row?.embed} />
          <Check label={texts.badge} name="badge" defaultChecked={row?.badge ?? false} />
        </>
      )}
    />
  )
}
