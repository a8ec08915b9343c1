import { answers } from './answers.js'
import { bill } from './bill.js'
import { blank } from './blank.js'
import { editions } from './editions.js'
import { evidence } from './evidence.js'
import { formats } from './formats.js'
import { suspected } from './suspected.js'

/** English texts of views that are loaded on first use. */
export const later = { answers, bill, blank, editions, evidence, formats, suspected }
