import { Field } from '../../parts/dialogs.js'
import type { Problem } from '../../state/client.js'
import { t } from '../../texts/index.js'

const ZONES: readonly string[] = Intl.supportedValuesOf('timeZone')

interface SiteShape {
  name: string
  domains: readonly string[]
  timezone: string
  currency: string
}

/** The fields that a new site and an old one have in common. */
export function SiteFields({ of, problem }: { of: Partial<SiteShape>; problem: Problem | undefined }) {
  const texts = t().settings.site
  return (
    <>
      <Field label={texts.name} name="name" problem={problem}>
        <input name="name" required maxLength={100} defaultValue={of.name ?? ''} />
      </Field>
      <Field label={texts.domains} name="domains" problem={problem} hint={texts.domainsHint}>
        <textarea
          name="domains"
          rows={3}
          required={of.domains?.length !== 0}
          defaultValue={of.domains?.join('\n') ?? ''}
        />
      </Field>
      <Field label={texts.timezone} name="timezone" problem={problem} hint={texts.timezoneHint}>
        <input
          name="timezone"
          list="zones"
          required
          defaultValue={of.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone}
        />
      </Field>
      <datalist id="zones">
        {ZONES.map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <Field label={texts.currency} name="currency" problem={problem} hint={texts.currencyHint}>
        <input name="currency" required minLength={3} maxLength={3} defaultValue={of.currency ?? 'EUR'} />
      </Field>
    </>
  )
}
