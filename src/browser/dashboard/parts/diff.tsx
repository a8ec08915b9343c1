import '../styles/diff.css'
import { t } from '../texts/index.js'

type Line = readonly [sign: '+' | '-' | ' ', text: string, line: number]

/** Lines of either text up to which two texts are compared. The work grows with their product. */
const MAX_LINES = 1_500
/** Unchanged lines that stand around a change. */
const AROUND = 1

/** Returns the lines of both texts, marked as added, removed or kept, by their longest common subsequence. */
function compare(before: readonly string[], after: readonly string[]): Line[] {
  const width = after.length + 1
  const common = new Uint16Array((before.length + 1) * width)
  const at = (i: number, j: number) => common[i * width + j] ?? 0
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      common[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const lines: Line[] = []
  let [i, j] = [0, 0]
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push([' ', after[j] ?? '', j + 1])
      i++
      j++
    } else if (i < before.length && (j >= after.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(['-', before[i] ?? '', j + 1])
      i++
    } else {
      lines.push(['+', after[j] ?? '', j + 1])
      j++
    }
  }
  return lines
}

const split = (text: string): string[] => text.replace(/\r?\n$/, '').split(/\r?\n/)

/** The changes between two texts, with the lines around them. */
export function Diff({ before, after, label }: { before: string; after: string; label: string }) {
  const texts = t().policy
  const [old, now] = [before === '' ? [] : split(before), split(after)]
  if (old.length > MAX_LINES || now.length > MAX_LINES) return <p class="foot">{texts.tooLong}</p>
  const lines = compare(old, now)
  const shown = lines.map((_, i) => lines.slice(Math.max(0, i - AROUND), i + AROUND + 1).some(([sign]) => sign !== ' '))
  if (!shown.includes(true)) return <p class="foot">{texts.sameText}</p>
  return (
    <div class="diff" role="group" aria-label={label}>
      {lines.map(([sign, text, line], i) =>
        shown[i] ? (
          <div key={`${i}`}>
            {!shown[i - 1] && <div class="muted">{texts.atLine(line)}</div>}
            <div class={sign === '+' ? 'added' : sign === '-' ? 'removed' : ''}>
              {sign} {text.slice(0, 500)}
            </div>
          </div>
        ) : null,
      )}
    </div>
  )
}
