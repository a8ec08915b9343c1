import type { LaterTexts } from '../shape.js'
import { answers } from './answers.js'
import { bill } from './bill.js'
import { blank } from './blank.js'
import { editions } from './editions.js'
import { evidence } from './evidence.js'
import { formats } from './formats.js'
import { suspected } from './suspected.js'

/** German texts of views that are loaded on first use. */
export const later: LaterTexts = { answers, bill, blank, editions, evidence, formats, suspected }
