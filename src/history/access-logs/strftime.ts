import { monthNumber } from './clf-time.js'
import { formatFault, READ, type Slot, type TemplateElement, type TemplateFields } from './template.js'
import { offsetOf } from './time-text.js'

/** Slots of a time in the notation of strftime(3), as Apache's `%{…}t` has it. */
export function strftimeElements(text: string, source: string, at: number): TemplateElement[] {
  const elements: TemplateElement[] = []
  for (let i = 0; i < text.length; i++) {
    if (text[i] !== '%') elements.push(text[i] ?? '')
    else {
      const letter = text[++i] ?? ''
      const whole = WHOLE[letter]
      const slot = SLOTS[letter]
      if (letter === '%') elements.push('%')
      else if (whole !== undefined) elements.push(...strftimeElements(whole, source, at))
      else if (slot) elements.push({ ...slot, source, at })
      else throw formatFault({ source, at }, `%${letter} of strftime is not supported`)
    }
  }
  return elements
}

/** Letters that stand for several others. */
const WHOLE: Readonly<Record<string, string>> = { F: '%Y-%m-%d', T: '%H:%M:%S', R: '%H:%M', D: '%m/%d/%y', h: '%b' }

type Part = Pick<Slot, 'read' | 'width'>

const SLOTS: Readonly<Record<string, Part>> = {
  Y: numberPart(0, 4),
  y: { width: 2, read: (fields, text) => setPart(fields, 0, 2000 + digits(text)) },
  m: numberPart(1, 2),
  b: { width: 3, read: (fields, text) => setPart(fields, 1, (monthNumber(text) ?? Number.NaN) + 1) },
  d: numberPart(2, 2),
  e: numberPart(2, 2),
  H: numberPart(3, 2),
  M: numberPart(4, 2),
  S: numberPart(5, 2),
  z: { width: 5, read: (fields, text) => (fields.offset = /^[+-]\d{4}$/.test(text) ? offsetOf(text) : Number.NaN) },
  Z: { read: READ.ignore },
  s: { width: 10, read: (fields, text) => (fields.time = digits(text) * 1000) },
}

function numberPart(index: number, width: number): Part {
  return { width, read: (fields, text) => setPart(fields, index, digits(text)) }
}

function setPart(fields: TemplateFields, index: number, value: number): void {
  fields.parts ??= [Number.NaN, Number.NaN, Number.NaN, 0, 0, 0]
  fields.parts[index] = value
}

const digits = (text: string): number => (/^ ?\d+$/.test(text) ? Number(text) : Number.NaN)
