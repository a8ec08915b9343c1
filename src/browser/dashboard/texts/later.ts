import { language } from '../state/preferences.js'
import { later as de } from './de/later.js'
import { later as en } from './en/later.js'
import type { LaterTexts } from './shape.js'

/** Texts of single views in the chosen language. They come with the first of these views: the other texts hold up the first drawing. */
export const later = (): LaterTexts => (language.value === 'de' ? de : en)
