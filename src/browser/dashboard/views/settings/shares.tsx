import type { DataOf } from '../../client/index.js'
import { dayColumn } from '../../parts/columns.js'
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
import { timeZone } from '../../state/session.js'
import { dayOf } from '../../state/zone.js'
import { t } from '../../texts/index.js'
import { Records, saveTo, useSiteRecords } from './records.js'

/** Reads that a first view needs. As `agents` they say nothing about single persons. */
const USUAL = ['overview', 'changes', 'timeseries', 'realtime', 'pages', 'sources', 'locations', 'devices'] as const
const FURTHER = [
  'breakdown',
  'events',
  'goals',
  'funnel',
  'journeys',
  'hours',
  'retention',
  'performance',
  'errors',
] as const
const SCOPES = [...USUAL, ...FURTHER, 'agents'] as const

/** Links that show chosen reads without an account, in a page of their own, in a frame, or as a badge. */
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
        dayColumn('expires_at', t().parts.ends, { width: '14%' }),
      ]}
      above={records.answer.data?.map((share) => <Addresses key={share.id} {...share} />)}
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
            checked={row?.scopes ?? [...USUAL, 'agents']}
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

/** The address of a share link, and what a page writes to frame it or to show its badge. */
const Addresses = ({ name, slug, embed, badge }: DataOf<'/api/shares'>[number]) => (
  <details>
    <summary>{t().settings.shares.addresses(name)}</summary>
    <Code text={`${root.href}share/${slug}`} />
    {embed?.length ? (
      <Code text={`<iframe src="${root.href}share/${slug}?embed=1" width="100%" height="800"></iframe>`} />
    ) : null}
    {badge && <Code text={`<img src="${root.href}api/share/${slug}/badge.svg" alt="">`} />}
  </details>
)
