import { answers } from './answers.js'
import { bill } from './bill.js'
import { blank } from './blank.js'
import { formats } from './formats.js'

/** English texts of views that are loaded on first use. */
export const later = { answers, bill, blank, formats }
