import { LinkButton } from '../parts/buttons.js'
import { Chain } from '../parts/change-chain.js'
import { act } from '../parts/dialogs.js'
import { Icon, Mark } from '../parts/marks.js'
import { Cut } from '../parts/names.js'
import { changeText } from '../parts/numbers.js'
import { Lacking } from '../parts/states.js'
import { type Audience, hrefTo, viewPath } from '../state/address.js'
import { client, send } from '../state/client.js'
import { forget, useRead } from '../state/data.js'
import { formatInstant, formatNumber } from '../state/format.js'
import { audiences, envelope, obstacle } from '../state/question.js'
import { hasRole } from '../state/session.js'
import { t } from '../texts/index.js'
import type { Note } from './notes.js'

const SIDE_MS = 7 * 86_400_000

interface NoteStripProps {
  note: Note
  /** All notes of the chart: marks of one day cover each other, so the strip leads from one to the next. */
  among: readonly Note[]
  onOpen: (id: number | undefined) => void
  /** Opens the note to be changed; absent where only its text is to be read. */
  onChange?: () => void
}

/** One note, with seven days before and after it, for both readerships. It stands below the chart and covers nothing. */
export function NoteStrip({ note, among, onOpen, onChange }: NoteStripProps) {
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
              {onChange && <LinkButton onClick={onChange}>{parts.edit}</LinkButton>}{' '}
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
        <p class="muted small">{t().changes.notACause}</p>
      </div>
      {audiences.value.map((of) =>
        obstacle(of) === undefined ? <Sides key={of} of={of} at={Date.parse(note.at)} /> : <Lacking key={of} of={of} />,
      )}
      <button type="button" aria-label={parts.note.close} onClick={() => onOpen(undefined)}>
        <Icon name="close" />
      </button>
    </section>
  )
}

/** The change of one readership in the seven days after an instant; nothing before they are over. */
function Sides({ of, at }: { of: Audience; at: number }) {
  const { parts } = t()
  const isOver = at + SIDE_MS <= Date.now()
  const { data, loading, problem } = useRead(
    '/api/stats/changes',
    isOver
      ? {
          ...envelope(of),
          range: undefined,
          compare: 'previous',
          start: new Date(at).toISOString(),
          end: new Date(at + SIDE_MS).toISOString(),
        }
      : undefined,
  )
  const dimension = data?.dimensions.find((one) => one.dimension === (of === 'human' ? 'source' : 'agent_id'))
  const { now, before, difference } = data ?? {}
  const isWhole = data?.compared === 1 && now !== undefined && before !== undefined && difference !== undefined
  return (
    <div>
      <p class="muted small">
        <Mark of={of} /> {t().changes.measure[of]}, {parts.note.sides}
      </p>
      {isOver && isWhole && dimension ? (
        <>
          <p>
            {formatNumber(before)} → <b>{formatNumber(now)}</b> {changeText('sessions', now, before)}
          </p>
          {(difference !== 0 || dimension.rose.length > 0) && (
            <Chain of={of} dimension={dimension} totals={{ now, before, difference }} top={2} short />
          )}
        </>
      ) : (
        <p class="muted small">
          {!isOver
            ? parts.note.notOver
            : loading
              ? '…'
              : problem
                ? (parts.problem[problem.code] ?? problem.message)
                : parts.note.notComparable}
        </p>
      )}
    </div>
  )
}
