import { Input, Lines, linesOf, textOf } from '../../parts/fields.js'
import { t } from '../../texts/index.js'

const ZONES: readonly string[] = Intl.supportedValuesOf('timeZone')

interface SiteShape {
  name: string
  domains: readonly string[]
  timezone: string
  currency: string
}

/** The fields that a new site and an old one have in common. */
export function SiteFields({ of }: { of: Partial<SiteShape> }) {
  const texts = t().settings.site
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  return (
    <>
      <Input label={t().parts.name} name="name" required maxLength={100} defaultValue={of.name} />
      <Lines
        label={texts.domains}
        hint={texts.domainsHint}
        name="domains"
        required={of.domains?.length !== 0}
        lines={of.domains}
      />
      <Input
        label={texts.timezone}
        hint={texts.timezoneHint}
        name="timezone"
        list="zones"
        required
        defaultValue={of.timezone ?? timeZone}
      />
      <datalist id="zones">
        {ZONES.map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <Input
        label={texts.currency}
        hint={texts.currencyHint}
        name="currency"
        required
        minLength={3}
        maxLength={3}
        defaultValue={of.currency ?? 'EUR'}
      />
    </>
  )
}

/** Reads these fields. */
export const siteOf = (fields: FormData) => ({
  name: textOf(fields, 'name'),
  domains: linesOf(fields, 'domains'),
  timezone: textOf(fields, 'timezone'),
  currency: textOf(fields, 'currency').toUpperCase(),
})
