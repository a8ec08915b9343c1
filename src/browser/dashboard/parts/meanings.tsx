import type { ComponentChildren } from 'preact'

interface MeaningsProps {
  rows: readonly { key: string; tag: ComponentChildren; count?: string | undefined; text: string }[]
}

/** Tags of a classification with their numbers and what each means. */
export const Meanings = ({ rows }: MeaningsProps) => (
  <ul class="meanings">
    {rows.map(({ key, tag, count, text }) => (
      <li key={key}>
        <span>{tag}</span>
        <b>{count}</b>
        <span class="muted small">{text}</span>
      </li>
    ))}
  </ul>
)
