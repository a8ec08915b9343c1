import type { LaterTexts } from '../shape.js'
import { answers } from './answers.js'
import { bill } from './bill.js'

/** German texts of views that are loaded on first use. */
export const later: LaterTexts = { answers, bill }
