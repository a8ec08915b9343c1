import type { ButtonHTMLAttributes, ComponentChildren } from 'preact'
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { t } from '../texts/index.js'

type Attributes = Omit<ButtonHTMLAttributes, 'role' | 'type'> & { children: ComponentChildren }

/** A button that looks like a link, beside a title or in a row. */
export const LinkButton = (attributes: Attributes) => h('button', { type: 'button', class: 'more', ...attributes })

/** A button that is not the one that the reader came for. */
export const PlainButton = (attributes: Attributes) =>
  h('button', { type: 'button', class: 'button plain', ...attributes })

/** The events of a drawing that acts as a button: a click, Enter and the space bar. */
export const pressEvents = (press: (event: MouseEvent | KeyboardEvent) => void) => ({
  onClick: press,
  onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Enter' && event.key !== ' ') return
    event.preventDefault()
    press(event)
  },
})

/** Turns a chart into its table and back. */
export const TableButton = ({ asTable, onTurn }: { asTable: boolean; onTurn: (asTable: boolean) => void }) => (
  <LinkButton aria-pressed={asTable} onClick={() => onTurn(!asTable)}>
    {asTable ? t().parts.chart : t().parts.table}
  </LinkButton>
)

interface ChoicesProps<T extends string> {
  values: readonly T[]
  now: T
  nameOf: (value: T) => string
  onChoose: (value: T) => void
}

/** Buttons of which one is pressed. */
export const Choices = <T extends string>({ values, now, nameOf, onChoose }: ChoicesProps<T>) => (
  <span class="legend">
    {values.map((value) => (
      <LinkButton key={value} aria-pressed={value === now} onClick={() => onChoose(value)}>
        {nameOf(value)}
      </LinkButton>
    ))}
  </span>
)

/** The first rows of a list, and the button that shows all of them. */
export function useFew<Row>(rows: readonly Row[], few: number) {
  const texts = t().parts
  const [isLong, setLong] = useState(false)
  const button = rows.length > few && (
    <LinkButton aria-expanded={isLong} onClick={() => setLong(!isLong)}>
      {isLong ? texts.fewer : texts.all(rows.length)}
    </LinkButton>
  )
  return [isLong ? rows : rows.slice(0, few), button] as const
}
