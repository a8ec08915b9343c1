import type { ComponentType } from 'preact'
import { hrefTo, view, viewPath } from '../../state/address.js'
import { t } from '../../texts/index.js'
import '../../styles/settings.css'
import { Account } from './account.js'
import { Alerts } from './alerts.js'
import { Audit } from './audit.js'
import { Dropped } from './dropped.js'
import { Flags } from './flags.js'
import { Imports } from './imports.js'
import { Install } from './install.js'
import { Keys } from './keys.js'
import { Members } from './members.js'
import NewSite from './new-site.js'
import { Reports } from './reports.js'
import { Segments } from './segments.js'
import { Shares } from './shares.js'
import { SiteSettings } from './site-settings.js'

const SECTIONS = {
  site: SiteSettings,
  install: Install,
  imports: Imports,
  segments: Segments,
  shares: Shares,
  alerts: Alerts,
  reports: Reports,
  flags: Flags,
  keys: Keys,
  members: Members,
  dropped: Dropped,
  audit: Audit,
  account: Account,
} satisfies Record<string, ComponentType>

type Section = keyof typeof SECTIONS
const isSection = (name: string | undefined): name is Section => name !== undefined && Object.hasOwn(SECTIONS, name)

/** The settings of the site, its organisation and the person, one section at a time: `settings/keys`. */
export default function Settings() {
  const { settings } = t()
  const asked = view.value[1]
  const section: Section = isSection(asked) ? asked : 'site'
  const Content = asked === 'new-site' ? NewSite : SECTIONS[section]
  return (
    <>
      <h1 class="title">{t().shell.view.settings}</h1>
      <div class="settings">
        <nav aria-label={t().shell.view.settings}>
          <ul>
            {Object.keys(SECTIONS)
              .filter(isSection)
              .map((name) => (
                <li key={name}>
                  <a
                    href={hrefTo({ path: viewPath('settings', name) })}
                    aria-current={asked !== 'new-site' && name === section ? 'page' : undefined}
                  >
                    {settings.sections[name]}
                  </a>
                </li>
              ))}
          </ul>
        </nav>
        <div class="sheet">
          <Content key={`${asked}`} />
        </div>
      </div>
    </>
  )
}
