import { pressEvents } from '../parts/buttons.js'
import { formatDay } from '../state/format.js'
import { t } from '../texts/index.js'
import type { Note } from './notes.js'
import type { TimeScale } from './scale.js'

const MIN_LETTERS = 5

/** The beginning of a text that fits; empty if a few letters do not. */
const cutTo = (text: string, letters: number): string =>
  letters < MIN_LETTERS + 1 ? '' : `${text.slice(0, Math.floor(letters) - 1).trimEnd()}…`

interface NoteLaneProps {
  notes: readonly Note[]
  scale: TimeScale
  top: number
  y: number
  open: number | undefined
  onOpen: ((id: number | undefined) => void) | undefined
}

/**
 * The notes below the axis: a filled square is readership's, a hollow one a person's. A label that does not fit is
 * shortened to the kind of the note, then cut; where a few letters have no room, the mark's tooltip has the text.
 */
export function NoteLane({ notes, scale, top, y, open, onOpen }: NoteLaneProps) {
  const shown = notes.filter(({ at }) => {
    const instant = Date.parse(at)
    return instant >= (scale.edges[0] ?? 0) && instant < (scale.edges.at(-1) ?? 0)
  })
  return (
    <g>
      {shown.map((note, i) => {
        const x = scale.at(Date.parse(note.at))
        const next = shown[i + 1]
        const room = (next ? scale.at(Date.parse(next.at)) : scale.right + 14) - x - 22
        const labels = [note.text, t().parts.note.kinds[note.kind] ?? '']
        const label = labels.find((text) => text !== '' && text.length * 6 < room) ?? cutTo(note.text, room / 7)
        const fits = label !== ''
        const isOpen = note.id === open
        return (
          <g key={note.id}>
            {fits && (
              <text class={isOpen ? 'halo strong' : 'halo'} x={x + 10} y={y + 1} aria-hidden="true">
                {label}
              </text>
            )}
            <g
              class="note"
              role="button"
              tabindex={0}
              aria-expanded={isOpen}
              aria-label={t().parts.note.open(formatDay(note.at), note.text)}
              {...pressEvents(() => onOpen?.(isOpen ? undefined : note.id))}
              onPointerDown={(event) => event.stopPropagation()}
            >
              <line
                x1={x}
                x2={x}
                y1={top - 4}
                y2={y - 7}
                stroke={isOpen ? 'var(--ink)' : 'var(--line)'}
                stroke-dasharray={isOpen ? '' : '1 3'}
              />
              <rect
                x={x - 4}
                y={y - 7}
                width="8"
                height="8"
                rx="2"
                fill={note.kind === 'note' ? 'var(--panel)' : 'var(--ink)'}
                stroke="var(--ink)"
                stroke-width="1.6"
              />
              <title>{`${formatDay(note.at)}: ${note.text.slice(0, 500)}`}</title>
              <rect x={x - 12} y={y - 15} width={fits ? label.length * 6.4 + 24 : 24} height="24" fill="transparent" />
            </g>
          </g>
        )
      })}
    </g>
  )
}
