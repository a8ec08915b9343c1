import { agents } from './agents.js'
import { behaviour } from './behaviour.js'
import { catalog } from './catalog.js'
import { coverage } from './coverage.js'
import { devices } from './devices.js'
import { decay, gap } from './gap.js'
import { overview } from './overview.js'
import { pages } from './pages.js'
import { parts } from './parts.js'
import { places } from './places.js'
import { policy, violations } from './policy.js'
import { sessions } from './sessions.js'
import { settings } from './settings.js'
import { shell } from './shell.js'
import { sources } from './sources.js'

/** All English texts, by area of the dashboard. Every other language has the same shape. */
export const en = {
  behaviour,
  devices,
  overview,
  pages,
  parts,
  places,
  sessions,
  settings,
  shell,
  sources,
  agents,
  coverage,
  catalog,
  gap,
  decay,
  policy,
  violations,
}

/** The shape of the texts in each language. */
export type Texts = typeof en
