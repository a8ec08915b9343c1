import { useState } from 'preact/hooks'
import { Dialog, Field, Form, toast } from '../../parts/dialogs.js'
import { Panel } from '../../parts/panel.js'
import { root } from '../../state/address.js'
import { client, send } from '../../state/client.js'
import { forget, useRead } from '../../state/data.js'
import { hasRole, loadSession, site } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { ifMatch, linesOf, textOf } from './records.js'
import { SiteFields } from './site-fields.js'

const SALTS = ['day', 'week', 'month', 'never'] as const

/**
 * The site's name, domains, zone, and what is recorded of whom for how long.
 * Long because the fields stand beside the call that sends them.
 */
export function SiteSettings() {
  const { parts, settings } = t()
  const texts = settings.site
  const id = site.value?.id ?? 0
  const answer = useRead('/api/sites/{id}', id > 0 ? {} : undefined, { params: { id } })
  const [deleting, setDeleting] = useState(false)
  return (
    <>
      <Panel title={settings.sections.site} answers={[answer]}>
        {() => {
          const of = answer.data
          if (!of) return null
          if (!hasRole('admin')) return <p class="muted">{parts.needsRole('admin')}</p>
          return (
            <Form
              key={of.version}
              action={parts.save}
              submit={async (fields) => {
                const days = textOf(fields, 'retention_days')
                await send(
                  client.PATCH('/api/sites/{id}', {
                    params: { path: { id } },
                    body: {
                      name: textOf(fields, 'name'),
                      domains: linesOf(fields, 'domains'),
                      timezone: textOf(fields, 'timezone'),
                      currency: textOf(fields, 'currency').toUpperCase(),
                      excluded_paths: linesOf(fields, 'excluded_paths'),
                      respect_gpc: fields.get('respect_gpc') !== null,
                      visitor_salt: SALTS.find((salt) => salt === textOf(fields, 'visitor_salt')) ?? 'day',
                      retention_days: days === '' ? null : Number(days),
                    },
                    ...ifMatch(of.version),
                  }),
                )
                await loadSession()
                forget()
                toast(parts.saved)
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
                    <select name="visitor_salt" defaultValue={of.visitor_salt}>
                      {SALTS.map((salt) => (
                        <option key={salt} value={salt}>
                          {texts.salts[salt]}
                        </option>
                      ))}
                    </select>
                  </Field>
                  <Field label={texts.retention} name="retention_days" problem={problem} hint={texts.retentionHint}>
                    <input type="number" min="1" name="retention_days" defaultValue={`${of.retention_days ?? ''}`} />
                  </Field>
                </>
              )}
            </Form>
          )
        }}
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
