import { signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import { PlainButton } from '../parts/buttons.js'
import { act, Code, Dialog, Form, toast } from '../parts/dialogs.js'
import { dayOfForm, Input, passwordOf, textOf } from '../parts/fields.js'
import { Icon } from '../parts/marks.js'
import { Skeleton } from '../parts/states.js'
import { hrefTo, place, root, view, viewPath } from '../state/address.js'
import { forget, useRead } from '../state/data.js'
import { segments } from '../state/filters.js'
import { shareSlug, siteQuery } from '../state/question.js'
import { create, remove } from '../state/records.js'
import { hasRole, site } from '../state/session.js'
import { windowName } from '../state/window.js'
import { t } from '../texts/index.js'
import { scopesOf, type View, viewOf } from './views.js'

const sharing = signal(false)

/** Opens the dialog that shares what is on screen. A reader of a share link has the address already. */
export function ShareButton() {
  const { title } = t().sharing
  if (shareSlug.value !== undefined) return null
  return (
    <>
      <button
        type="button"
        class="control"
        aria-label={title}
        title={title}
        aria-haspopup="dialog"
        onClick={() => (sharing.value = true)}
      >
        <Icon name="share" />
      </button>
      {sharing.value && <ShareView onClose={() => (sharing.value = false)} />}
    </>
  )
}

/** The address of the view on screen through a share link: with window, filters, readership and what the view itself keeps. */
function addressThrough(slug: string): string {
  const { filters, segment, own } = place.value
  // A share link has no segments, so their filters stand in the address.
  const saved = segments.value.find(({ id }) => id === segment)?.filters ?? []
  const path = ['share', slug, ...view.value]
  return new URL(hrefTo({ path, own, filters: [...saved, ...filters], segment: undefined }), root).href
}

function ShareView({ onClose }: { onClose: () => void }) {
  const texts = t().sharing
  const current = viewOf(view.value[0])
  const names: Record<string, string> = t().shell.view
  const name = names[current?.name ?? ''] ?? ''
  return (
    <Dialog title={texts.title} onClose={onClose}>
      <p class="muted">{texts.members}</p>
      <Code text={location.href} />
      <h3 class="section-title">{texts.everyone}</h3>
      {current?.scope === undefined ? (
        <p class="muted">{texts.never(name)}</p>
      ) : hasRole('admin') ? (
        <NewLink of={current} name={name} />
      ) : (
        <p class="muted">{t().parts.needsRole('admin')}</p>
      )}
      <div class="buttons">
        <PlainButton onClick={onClose}>{t().shell.close}</PlainButton>
      </div>
    </Dialog>
  )
}

/** The longest name of a share link, characters. */
const MAX_NAME = 100

/** A name that none of the others is: "Pages, Last 7 days 2". */
function freeName(wanted: string, others: readonly string[]): string {
  const named = (n: number) => (n === 1 ? wanted.slice(0, MAX_NAME) : `${wanted.slice(0, MAX_NAME - 5)} ${n}`)
  let n = 1
  while (others.includes(named(n))) n += 1
  return named(n)
}

/** Makes a link with the rights that the view needs, and then shows it. */
function NewLink({ of, name }: { of: View; name: string }) {
  const { parts, settings, shell, sharing: texts } = t()
  const [made, setMade] = useState<{ id: number; slug: string }>()
  const scopes = scopesOf(of)
  const links = useRead('/api/shares', siteQuery.value)
  if (made)
    return (
      <div role="status">
        <Code text={addressThrough(made.slug)} />
        <p class="muted">
          {texts.made} <a href={hrefTo({ path: viewPath('settings', 'shares') })}>{settings.sections.shares}</a>
        </p>
        <div class="buttons">
          <PlainButton
            onClick={() =>
              void act(async () => {
                await remove('/api/shares', made)
                forget('/api/shares')
                setMade(undefined)
              }, texts.revoked)
            }
          >
            {texts.revoke}
          </PlainButton>
        </div>
      </div>
    )
  // Names of links are unique, and the form suggests one.
  if (links.loading) return <Skeleton />
  return (
    <Form
      action={texts.make}
      submit={async (fields) => {
        const password = passwordOf(fields, 'password')
        const link = await create('/api/shares', {
          name: textOf(fields, 'name'),
          scopes: [...scopes],
          filters: [],
          embed: [],
          badge: false,
          expires_at: dayOfForm(fields, 'expires_at') ?? null,
          password: password || null,
        })
        forget('/api/shares')
        setMade(link)
        // Browsers without HTTPS have no clipboard; the address has a button of its own.
        await navigator.clipboard?.writeText(addressThrough(link.slug)).then(
          () => toast(texts.copied),
          () => {},
        )
      }}
    >
      <p class="muted">{texts.opens(name, scopes.map((scope) => settings.shares.scope[scope]).join(', '))}</p>
      <Input
        label={parts.name}
        name="name"
        required
        maxLength={MAX_NAME}
        defaultValue={freeName(
          [site.value?.name, name, windowName()].join(', '),
          (links.data ?? []).map((link) => link.name),
        )}
      />
      <Input
        label={shell.locked.password}
        hint={settings.shares.passwordHint}
        name="password"
        type="password"
        minLength={8}
        maxLength={200}
        autocomplete="new-password"
      />
      <Input label={parts.ends} hint={texts.endsHint} name="expires_at" type="date" />
    </Form>
  )
}
