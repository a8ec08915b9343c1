import { useLayoutEffect, useRef } from 'preact/hooks'
import { Mark } from '../../parts/marks.js'
import { formatNumber } from '../../state/format.js'
import type { TriedText } from '../../state/rehearsal.js'
import { t } from '../../texts/index.js'

/** Lines beyond this have no marks beside them: each is a row of both gutters. */
const MAX_MARKED = 3_000
const LINE_PIXELS = 24

interface EditorProps {
  text: string
  /** The text that is served now: other lines are new. */
  present: string
  tried: TriedText
  /** A text that replaces the one in the editor, once for each object. */
  replacement: { text: string } | undefined
  onChange: (text: string) => void
}

const linesOf = (text: string): string[] => text.split(/\r?\n/)

/** Replaces the text as if it had been typed, so that the browser's own undo takes it back. */
function typeOver(area: HTMLTextAreaElement, text: string): void {
  area.focus()
  area.select()
  // Nothing else keeps the history of a text area.
  if (!document.execCommand('insertText', false, text)) area.value = text
}

/** A text area between two gutters: line numbers with marks, and the fetches that each line decides. */
export function Editor({ text, present, tried, replacement, onChange }: EditorProps) {
  const texts = t().robots
  const area = useRef<HTMLTextAreaElement>(null)
  const begun = useRef(text)
  useLayoutEffect(() => {
    if (replacement === undefined || area.current === null) return
    typeOver(area.current, replacement.text)
    onChange(area.current.value)
  }, [replacement])
  const lines = linesOf(text)
  const marked = lines.slice(0, MAX_MARKED)
  const before = new Set(linesOf(present))
  const judged = tried.of ? linesOf(tried.of.text) : []
  const fetches = new Map(tried.data?.lines.map((one) => [one.line, one.fetches]))
  const differing = new Set(tried.data?.differing.map(({ line }) => line))
  const isJudged = (line: string, i: number) => judged[i] === line
  const isNew = (line: string) => line !== '' && !before.has(line)
  return (
    <div class="robots-editor">
      <ol class="gutter" aria-hidden="true">
        {marked.map((line, i) => (
          <li key={`${i}`} class={isNew(line) ? 'new' : ''}>
            {isJudged(line, i) && differing.has(i + 1) && <b>?</b>}
            {i + 1}
          </li>
        ))}
      </ol>
      <textarea
        ref={area}
        spellcheck={false}
        wrap="off"
        aria-label={texts.editorLabel(lines.length, differing.size)}
        defaultValue={begun.current}
        style={{ height: `${Math.max(8, lines.length) * LINE_PIXELS + 36}px` }}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <ol class="gutter counts" aria-hidden="true">
        {marked.map((line, i) => (
          <li key={`${i}`}>
            {!isJudged(line, i)
              ? '…'
              : fetches.has(i + 1) && [<Mark of="agent" />, formatNumber(fetches.get(i + 1) ?? 0)]}
          </li>
        ))}
      </ol>
    </div>
  )
}
