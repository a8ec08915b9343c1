import { t } from '../texts/index.js'

interface Line {
  kind: 'same' | 'added' | 'removed'
  text: string
  /** Line number in the new text; of a removed line, where it was. */
  at: number
}

/** More lines than this on either side are compared as a whole block: the table of the comparison would be too large. */
const MAX_LINES = 2_000
const CONTEXT = 2

/** Compares two texts by lines: the longest common subsequence stays, the rest is added or removed. */
export function diffLines(before: string, after: string): Line[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  const isLarge = a.length > MAX_LINES || b.length > MAX_LINES
  const lengths = isLarge ? [] : commonLengths(a, b)
  const common = (i: number, j: number) => lengths[i]?.[j] ?? 0
  const lines: Line[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    const [old = '', now = ''] = [a[i], b[j]]
    if (i < a.length && j < b.length && old === now) {
      lines.push({ kind: 'same', text: now, at: j + 1 })
      i += 1
      j += 1
    } else if (i < a.length && (j >= b.length || common(i + 1, j) >= common(i, j + 1))) {
      lines.push({ kind: 'removed', text: old, at: i + 1 })
      i += 1
    } else {
      lines.push({ kind: 'added', text: now, at: j + 1 })
      j += 1
    }
  }
  return lines
}

/** Returns how many lines the ends of both texts have in common, by where each end begins. */
function commonLengths(a: readonly string[], b: readonly string[]): Uint16Array[] {
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1))
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const row = table[i]
      if (row)
        row[j] = a[i] === b[j] ? (table[i + 1]?.[j + 1] ?? 0) + 1 : Math.max(table[i + 1]?.[j] ?? 0, row[j + 1] ?? 0)
    }
  return table
}

/** Splits a comparison into the parts that changed, each with two lines around it. */
export function hunks(lines: readonly Line[]): Line[][] {
  const near = lines.map((_, i) =>
    lines.slice(Math.max(0, i - CONTEXT), i + CONTEXT + 1).some(({ kind }) => kind !== 'same'),
  )
  const found: Line[][] = []
  lines.forEach((line, i) => {
    if (!near[i]) return
    if (i > 0 && near[i - 1]) found.at(-1)?.push(line)
    else found.push([line])
  })
  return found
}

const SIGNS = { same: '  ', added: '+ ', removed: '- ' }

/** The lines that changed between two texts. Signs and weight tell added from removed, not colour. */
export function Diff({ before, after, label }: { before: string; after: string; label: string }) {
  const parts = hunks(diffLines(before, after))
  if (parts.length === 0) return <p class="muted small">{t().pages.versions.same}</p>
  return (
    <div class="diff" role="group" aria-label={label} tabIndex={0}>
      {parts.map((lines, i) => (
        <div key={i}>
          <div class="muted">{t().pages.versions.lines(lines[0]?.at ?? 1)}</div>
          {lines.map(({ kind, text }, k) => (
            <div key={k} class={kind}>
              {SIGNS[kind]}
              {text.slice(0, 1_000)}
            </div>
          ))}
        </div>
      ))}
    </div>
  )
}
