import type { ComponentChildren, ComponentProps } from 'preact'
import type { Problem } from '../state/client.js'
import { formatTime } from '../state/format.js'
import { audiences, obstacle } from '../state/question.js'
import { t } from '../texts/index.js'
import { Empty, Failed, Lacking, NoChange, Skeleton } from './states.js'

/** The parts of an answer that a panel needs. */
interface Asked {
  data?: unknown
  problem?: Problem
  loading: boolean
  stale: boolean
  retry(): void
}

interface PanelProps {
  title: ComponentChildren
  /** For a heading that is drawn elsewhere. */
  hideTitle?: boolean
  /** Muted words beside the title. */
  aside?: ComponentChildren
  /** A link or buttons at the right end of the title's line. */
  right?: ComponentChildren
  /** Columns of twelve. */
  span?: 3 | 4 | 5 | 6 | 7 | 8 | 9 | 12
  class?: string
  /** The answers that the panel draws. It waits until one has data. */
  answers?: readonly Asked[]
  /** Answers that it waits for too, and does without if they fail, because they decide the height of its rows. */
  also?: readonly Asked[]
  /** There is data, but nothing in it. */
  empty?: boolean
  /** Why it is empty, and the next step. */
  emptyText?: ComponentChildren
  /** Lines of the skeleton. */
  skeleton?: number
  foot?: ComponentChildren
  children: () => ComponentChildren
}

/** Lines of a skeleton, and the height of each: a panel has their height in all its states, so that it moves none below it. */
const ROWS = 5
const ROW_PIXELS = 32

/** Whether a question was asked: a readership that lacks a filter on screen is not. */
const isAsked = ({ loading, data, problem }: Asked): boolean => loading || data !== undefined || problem !== undefined

/**
 * One cell of the sheet in one of its states: loading, failed, empty, or drawn. While a new answer is under way the old
 * one stays, dimmed; if it cannot be refreshed, a line says so.
 */
export function Panel(props: PanelProps) {
  const { title, hideTitle, aside, right, span = 12, answers = [], also = [], empty, emptyText, skeleton } = props
  const { foot, children } = props
  const failed = answers.find(({ problem, data }) => problem && data === undefined)
  const waiting = answers.some(({ loading }) => loading) && answers.every(({ data }) => data === undefined)
  const isIncomplete = also.some(({ loading, data }) => loading && data === undefined)
  const busy = isIncomplete || answers.some(({ loading, stale }) => loading || stale)
  const old = failed ? undefined : answers.find(({ problem }) => problem)
  const lacking = answers.some(isAsked) ? [] : audiences.value.filter((of) => answers.length > 0 && obstacle(of))
  return (
    <section class={`cell span-${span} ${props.class ?? ''}`} aria-busy={busy}>
      <div class={hideTitle && !right ? 'visually-hidden' : 'head'}>
        <h2 class={hideTitle ? 'visually-hidden' : ''}>{title}</h2>
        {aside && <span class="aside">{aside}</span>}
        {right && <span class="right">{right}</span>}
      </div>
      <div class="body" style={answers.length > 0 ? { minHeight: `${(skeleton ?? ROWS) * ROW_PIXELS}px` } : {}}>
        {failed?.problem ? (
          <Failed problem={failed.problem} retry={failed.retry} />
        ) : waiting || isIncomplete ? (
          <Skeleton {...(skeleton === undefined ? {} : { rows: skeleton })} />
        ) : lacking.length > 0 ? (
          lacking.map((of) => <Lacking key={of} of={of} />)
        ) : empty ? (
          <Empty>{emptyText}</Empty>
        ) : (
          children()
        )}
      </div>
      {foot && !waiting && !failed && lacking.length === 0 && <p class="foot">{foot}</p>}
      {old?.problem && (
        <p class="foot" role="status">
          {t().parts.notRefreshed(formatTime(old.problem.at))}{' '}
          <button type="button" class="link" onClick={old.retry}>
            {t().parts.retry}
          </button>
        </p>
      )}
    </section>
  )
}

interface SheetProps {
  /** The name of the view for screen readers; absent where a view draws its heading. */
  title?: string | undefined
  children: ComponentChildren
}

export const Sheet = ({ title, children }: SheetProps) => (
  <>
    {title !== undefined && <h1 class="visually-hidden">{title}</h1>}
    <div class="sheet">{children}</div>
  </>
)

type Compared = Asked & { meta?: ComponentProps<typeof NoChange>['of'][number] }

interface SentenceProps {
  /** Answers that the sentence waits for, and does without if they fail. */
  also?: readonly Compared[]
  children: () => ComponentChildren
  answers: readonly Compared[]
}

/**
 * The sentence that opens a view: a fixed template filled with the view's numbers, once all that were asked are there. Why
 * the view has no changes is said after it, once.
 */
export const Sentence = ({ children, answers, also = [] }: SentenceProps) => {
  const asked = answers.filter(isAsked)
  const isWaiting = [...asked, ...also].some(({ loading }) => loading)
  const ready = asked.length > 0 && !isWaiting && asked.every(({ data }) => data !== undefined)
  return (
    <div class="cell">
      <p class="sentence" aria-live="polite" aria-busy={isWaiting}>
        {ready ? children() : '\u00a0'}
      </p>
      {ready && <NoChange of={[...asked, ...also].map(({ meta }) => meta)} />}
    </div>
  )
}
