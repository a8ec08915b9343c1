import type * as en from './en/index.js'

/** The shape of the texts in each language. */
export type Texts = typeof en
