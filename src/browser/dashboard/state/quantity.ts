import type { ComponentChildren } from 'preact'
import { FIELD_UNITS } from '../texts/field-units.js'
import { t } from '../texts/index.js'
import type { Quantity } from '../texts/quantity.js'

type Field = keyof typeof FIELD_UNITS

/** A number of a field with the word of its unit; `draw` puts an element around the text. */
export function quantity<F extends Field>(
  field: F,
  n: number,
  draw: (text: string) => ComponentChildren = (text) => text,
): Quantity<(typeof FIELD_UNITS)[F]> {
  const unit = FIELD_UNITS[field]
  const text = t().units[unit](n)
  return { unit, n, text, shown: draw(text) }
}
