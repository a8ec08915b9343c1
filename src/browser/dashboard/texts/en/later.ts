import { answers } from './answers.js'

/** English texts of views that are loaded on first use. */
export const later = { answers }
