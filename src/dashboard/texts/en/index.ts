import { behaviour } from './behaviour.js'
import { devices } from './devices.js'
import { overview } from './overview.js'
import { pages } from './pages.js'
import { parts } from './parts.js'
import { places } from './places.js'
import { sessions } from './sessions.js'
import { settings } from './settings.js'
import { shell } from './shell.js'
import { sources } from './sources.js'

/** All English texts, by area of the dashboard. Every other language has the same shape. */
export const en = { behaviour, devices, overview, pages, parts, places, sessions, settings, shell, sources }
