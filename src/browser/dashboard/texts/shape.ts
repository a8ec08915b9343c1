import type * as en from './en/index.js'
import type { later } from './en/later.js'

/** The shape of the texts in each language. */
export type Texts = typeof en
/** The same of texts that come with their view. */
export type LaterTexts = typeof later
