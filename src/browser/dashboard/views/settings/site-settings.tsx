import { useState } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { Dialog, Form, toast } from '../../parts/dialogs.js'
import { Check, Input, isChecked, Lines, linesOf, Select, textOf } from '../../parts/fields.js'
import { NewerVersion, useVersion } from '../../parts/newer-version.js'
import { Panel } from '../../parts/panel.js'
import { PRICES } from '../../parts/prices.js'
import { root } from '../../state/address.js'
import { client, send } from '../../state/client.js'
import { forget, useRead } from '../../state/data.js'
import { formatInstant } from '../../state/format.js'
import { hasRole, loadSession, site } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { later } from '../../texts/later.js'
import { SectionField } from './section-field.js'
import { SiteFields, siteOf } from './site-fields.js'

const SALTS = ['day', 'week', 'month', 'never'] as const

type SiteRecord = DataOf<'/api/sites/{id}'>

/** The site's name, domains and zone, what is recorded about people and for how long, and the site's end. */
export function SiteSettings() {
  const { parts, settings } = t()
  const texts = settings.site
  const id = site.value?.id ?? 0
  const answer = useRead('/api/sites/{id}', id > 0 ? {} : undefined, { params: { id } })
  // The record as this reader stored it, or took it from another member.
  const [stored, setStored] = useState<SiteRecord>()
  const [deleting, setDeleting] = useState(false)
  const of = stored ?? answer.data
  return (
    <>
      <Panel title={settings.sections.site} answers={[answer]}>
        {() =>
          hasRole('admin') ? (
            of && <SiteForm key={of.version} of={of} onStored={setStored} />
          ) : (
            <p class="muted">{parts.needsRole('admin')}</p>
          )
        }
      </Panel>
      {hasRole('admin') && of && (
        <Panel title={texts.delete}>
          {() => (
            <>
              <p class="muted">{texts.deleteText}</p>
              <div class="buttons">
                <button type="button" class="button danger" onClick={() => setDeleting(true)}>
                  {texts.delete}
                </button>
              </div>
              {deleting && (
                <Dialog title={texts.delete} onClose={() => setDeleting(false)}>
                  <Form
                    danger
                    action={texts.delete}
                    onCancel={() => setDeleting(false)}
                    submit={async (fields) => {
                      if (textOf(fields, 'confirm') !== site.value?.name) {
                        toast(texts.deleteWrong)
                        return
                      }
                      await send(client.DELETE('/api/sites/{id}', { params: { path: { id } } }))
                      location.assign(root.href)
                    }}
                  >
                    <Input
                      label={texts.deleteConfirm(site.value?.name ?? '')}
                      name="confirm"
                      required
                      autocomplete="off"
                    />
                  </Form>
                </Dialog>
              )}
            </>
          )}
        </Panel>
      )}
    </>
  )
}

/** Says when changed pages were last announced, and what came back. */
function LastPing({ site }: { site: number }) {
  const texts = t().settings.site
  const { data } = useRead('/api/sites/{id}/indexnow', {}, { params: { id: site } })
  const ping = data?.[0]
  if (data === undefined) return null
  return (
    <p class="hint">
      {ping ? texts.lastPing(formatInstant(ping.created_at), ping.state, ping.last_error) : texts.noPing}
    </p>
  )
}

const numberOrNull = (text: string) => (text === '' ? null : Number(text))

/** The form of the site. */
function SiteForm({ of, onStored }: { of: SiteRecord; onStored: (site: SiteRecord) => void }) {
  const { parts, settings } = t()
  const texts = settings.site
  const edit = useVersion<SiteRecord>('/api/sites', of, async (version = of.version, fields) => {
    const body = {
      ...siteOf(fields),
      sections: linesOf(fields, 'sections'),
      excluded_paths: linesOf(fields, 'excluded_paths'),
      respect_gpc: isChecked(fields, 'respect_gpc'),
      visitor_salt: SALTS.find((salt) => salt === textOf(fields, 'visitor_salt')) ?? 'day',
      retention_days: numberOrNull(textOf(fields, 'retention_days')),
      indexnow_key: textOf(fields, 'indexnow_key') || null,
      indexnow_key_location: textOf(fields, 'indexnow_key_location') || null,
      ...Object.fromEntries(PRICES.map((name) => [name, numberOrNull(textOf(fields, name))])),
    }
    const headers = { 'if-match': `"${version}"` }
    const { data } = await send(client.PATCH('/api/sites/{id}', { params: { path: { id: of.id } }, body, headers }))
    await loadSession()
    forget()
    toast(parts.saved)
    onStored(data)
  })
  return (
    <Form action={parts.save} submit={edit.store}>
      <SiteFields of={of} />
      <SectionField site={of.id} lines={of.sections} />
      <h3 class="section-title">{later().bill.prices}</h3>
      {PRICES.map((name) => (
        <Input
          key={name}
          label={`${later().bill.price[name]} (${of.currency})`}
          name={name}
          type="number"
          min="0"
          step="0.000001"
          defaultValue={of[name]}
        />
      ))}
      <h3 class="section-title">IndexNow</h3>
      <Input
        label={texts.indexNowKey}
        hint={texts.indexNowHint}
        name="indexnow_key"
        pattern="[a-zA-Z0-9\-]{8,128}"
        defaultValue={of.indexnow_key}
      />
      <Input
        label={texts.indexNowLocation}
        hint={texts.indexNowLocationHint}
        name="indexnow_key_location"
        type="url"
        defaultValue={of.indexnow_key_location}
      />
      {of.indexnow_key && <LastPing site={of.id} />}
      <h3 class="section-title">{texts.privacy}</h3>
      <Lines label={texts.excluded} hint={texts.excludedHint} name="excluded_paths" lines={of.excluded_paths} />
      <Check label={texts.gpc} name="respect_gpc" defaultChecked={of.respect_gpc} />
      <Select
        label={texts.salt}
        hint={texts.saltHint}
        name="visitor_salt"
        value={of.visitor_salt}
        choices={SALTS.map((salt) => [salt, texts.salts[salt]])}
      />
      <Input
        label={texts.retention}
        hint={texts.retentionHint}
        name="retention_days"
        type="number"
        min="1"
        defaultValue={of.retention_days}
      />
      <NewerVersion edit={edit} summary={({ name, domains }) => `${name}: ${domains.join(', ')}`} onTake={onStored} />
    </Form>
  )
}
