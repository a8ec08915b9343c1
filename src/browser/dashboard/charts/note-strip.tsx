import { LinkButton } from '../parts/buttons.js'
import { act } from '../parts/dialogs.js'
import { Icon, Mark } from '../parts/marks.js'
import { Cut } from '../parts/names.js'
import { changeText, formatMetric, metricName, metricOf } from '../parts/numbers.js'
import { Lacking } from '../parts/states.js'
import { type Audience, hrefTo, viewPath } from '../state/address.js'
import { client, send } from '../state/client.js'
import { forget, useRead } from '../state/data.js'
import { formatInstant } from '../state/format.js'
import { audiences, envelope, obstacle } from '../state/question.js'
import { hasRole } from '../state/session.js'
import { t } from '../texts/index.js'
import type { Note } from './notes.js'

const SIDE_MS = 7 * 86_400_000

interface NoteStripProps {
  note: Note
  /** All notes of the chart: marks of one day cover each other, so the strip leads from one to the next. */
  among: readonly Note[]
  metrics: Readonly<Record<Audience, string>>
  onOpen: (id: number | undefined) => void
  onChange: () => void
}

/** One note, with seven days before and after it, for both readerships. It stands below the chart and covers nothing. */
export function NoteStrip({ note, among, metrics, onOpen, onChange }: NoteStripProps) {
  const { parts } = t()
  const remove = async () => {
    await send(client.DELETE('/api/annotations/{id}', { params: { path: { id: note.id } } }))
    forget('/api/annotations')
    onOpen(undefined)
  }
  const inOrder = among.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
  const place = inOrder.findIndex(({ id }) => id === note.id)
  return (
    <section class="note-strip" aria-label={note.text}>
      <div>
        <b>
          <Cut text={note.text} />
        </b>
        <p class="muted small note-acts">
          {formatInstant(note.at)}, {parts.note.by(note.by === 'readership' ? parts.note.readership : note.by)}{' '}
          {note.kind === 'policy_changed' && (
            <a
              href={hrefTo({
                path: viewPath('policy'),
                own: { hostname: note.data?.hostname ?? '', version: `${note.data?.file?.slice(1)} ${note.at}` },
              })}
            >
              {parts.note.diff}
            </a>
          )}{' '}
          {hasRole('member') && (
            <>
              <LinkButton onClick={onChange}>{parts.edit}</LinkButton>{' '}
              <LinkButton onClick={() => void act(remove, parts.deleted)}>{parts.delete}</LinkButton>
            </>
          )}{' '}
          {([-1, 1] as const).map((by) => {
            const next = inOrder[place + by]
            return (
              next && (
                <LinkButton key={by} onClick={() => onOpen(next.id)}>
                  {by < 0 ? parts.note.earlier : parts.note.later}
                </LinkButton>
              )
            )
          })}
        </p>
        {note.data?.assets?.map((asset) => (
          <p key={asset} class="mono small">
            <Cut text={asset} />
          </p>
        ))}
      </div>
      {audiences.value.map((of) =>
        obstacle(of) === undefined ? (
          <Sides key={of} of={of} at={Date.parse(note.at)} metric={metrics[of]} />
        ) : (
          <Lacking key={of} of={of} />
        ),
      )}
      <button type="button" aria-label={parts.note.close} onClick={() => onOpen(undefined)}>
        <Icon name="close" />
      </button>
    </section>
  )
}

/** One readership before and after an instant; no comparison if either side was not wholly recorded or is not over. */
function Sides({ of, at, metric }: { of: Audience; at: number; metric: string }) {
  const { parts } = t()
  const ask = (start: number) => ({
    ...envelope(of),
    range: undefined,
    compare: undefined,
    start: new Date(start).toISOString(),
    end: new Date(start + SIDE_MS).toISOString(),
  })
  const isOver = at + SIDE_MS <= Date.now()
  const before = useRead('/api/stats/overview', isOver ? ask(at - SIDE_MS) : undefined)
  const after = useRead('/api/stats/overview', isOver ? ask(at) : undefined)
  const whole = [before, after].every(({ meta }, i) => {
    const { since, gaps = [] } = meta?.recorded ?? {}
    return gaps.length === 0 && since !== undefined && Date.parse(since) <= at - (i === 0 ? SIDE_MS : 0)
  })
  const [a, b] = [metricOf(before.data, metric), metricOf(after.data, metric)]
  return (
    <div>
      <p class="muted small">
        <Mark of={of} /> {metricName(metric)}, {parts.note.sides}
      </p>
      {isOver && whole && a !== undefined && b !== undefined ? (
        <p>
          {formatMetric(metric, a)} → <b>{formatMetric(metric, b)}</b> {changeText(metric, b, a)}
        </p>
      ) : (
        <p class="muted small">
          {!isOver ? parts.note.notOver : before.loading || after.loading ? '…' : parts.note.notComparable}
        </p>
      )}
    </div>
  )
}
