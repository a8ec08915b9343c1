import { useRef, useState } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { Dialog, Field, Form, Select, toast } from '../../parts/dialogs.js'
import { NewerVersion, useVersion } from '../../parts/newer-version.js'
import { Panel } from '../../parts/panel.js'
import { root } from '../../state/address.js'
import { client, send } from '../../state/client.js'
import { forget, useRead } from '../../state/data.js'
import { hasRole, loadSession, site } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { ifMatch, linesOf, textOf } from './records.js'
import { SiteFields } from './site-fields.js'

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
      {hasRole('admin') && (
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
                    {() => (
                      <Field label={texts.deleteConfirm(site.value?.name ?? '')} name="confirm">
                        <input name="confirm" required autocomplete="off" />
                      </Field>
                    )}
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

/** The form of the site. Long because the fields stand beside the call that sends them. */
function SiteForm({ of, onStored }: { of: SiteRecord; onStored: (site: SiteRecord) => void }) {
  const { parts, settings } = t()
  const texts = settings.site
  const path = { params: { path: { id: of.id } } }
  const fields = useRef(new FormData())
  const edit = useVersion<SiteRecord>({
    record: of,
    load: async () => (await send(client.GET('/api/sites/{id}', path))).data,
    save: async (version = of.version) => {
      const { current } = fields
      const days = textOf(current, 'retention_days')
      const body = {
        name: textOf(current, 'name'),
        domains: linesOf(current, 'domains'),
        timezone: textOf(current, 'timezone'),
        currency: textOf(current, 'currency').toUpperCase(),
        excluded_paths: linesOf(current, 'excluded_paths'),
        respect_gpc: current.get('respect_gpc') !== null,
        visitor_salt: SALTS.find((salt) => salt === textOf(current, 'visitor_salt')) ?? 'day',
        retention_days: days === '' ? null : Number(days),
      }
      const { data } = await send(client.PATCH('/api/sites/{id}', { ...path, body, ...ifMatch(version) }))
      await loadSession()
      forget()
      toast(parts.saved)
      onStored(data)
    },
  })
  return (
    <Form
      action={parts.save}
      submit={(typed) => {
        fields.current = typed
        return edit.store()
      }}
    >
      {(problem) => (
        <>
          <SiteFields of={of} problem={problem} />
          <h3 class="section-title">{texts.privacy}</h3>
          <Field label={texts.excluded} name="excluded_paths" problem={problem} hint={texts.excludedHint}>
            <textarea name="excluded_paths" rows={3} defaultValue={of.excluded_paths.join('\n')} />
          </Field>
          <label class="check">
            <input type="checkbox" name="respect_gpc" defaultChecked={of.respect_gpc} /> {texts.gpc}
          </label>
          <Field label={texts.salt} name="visitor_salt" problem={problem} hint={texts.saltHint}>
            <Select
              name="visitor_salt"
              value={of.visitor_salt}
              choices={SALTS.map((salt) => [salt, texts.salts[salt]])}
            />
          </Field>
          <Field label={texts.retention} name="retention_days" problem={problem} hint={texts.retentionHint}>
            <input type="number" min="1" name="retention_days" defaultValue={`${of.retention_days ?? ''}`} />
          </Field>
          {edit.newer && (
            <NewerVersion
              at={edit.newer.at}
              summary={`${edit.newer.record.name}: ${edit.newer.record.domains.join(', ')}`}
              onTake={() => edit.newer && onStored(edit.newer.record)}
            />
          )}
        </>
      )}
    </Form>
  )
}
