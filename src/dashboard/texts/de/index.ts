import type { Texts } from '../index.js'
import { behaviour } from './behaviour.js'
import { overview } from './overview.js'
import { pages } from './pages.js'
import { parts } from './parts.js'
import { settings } from './settings.js'
import { shell } from './shell.js'
import { sources } from './sources.js'

/** All German texts. */
export const de: Texts = { behaviour, overview, pages, parts, settings, shell, sources }
