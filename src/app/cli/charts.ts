const BAR_EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** Returns the columns of a bar in a terminal of this width; 0 if the bar would leave too little room for text. */
export const barWidth = (columns: number | undefined): number =>
  columns === undefined ? 16 : Math.max(0, Math.min(24, Math.floor((columns - 24) / 4)))

/** Draws a value's share of `max` as a bar of at most `width` columns, in eighths; a value above 0 is never empty. */
export function bar(value: number, max: number, width: number): string {
  if (!(value > 0) || !(max > 0) || width < 1) return ''
  const eighths = Math.max(1, Math.round((Math.min(value, max) / max) * width * 8))
  return '█'.repeat(Math.floor(eighths / 8)) + (BAR_EIGHTHS[eighths % 8] ?? '')
}

const SPARKLINE_CHARACTERS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']

/**
 * Draws one character a value, as high as its share of the largest, and a space for an absent value; adds neighbours up
 * to fit into `columns`.
 */
export function sparkline(values: readonly (number | undefined)[], columns = 60): string {
  const size = Math.max(1, Math.ceil(values.length / columns))
  const sums = Array.from({ length: Math.ceil(values.length / size) }, (_, i) =>
    values
      .slice(i * size, (i + 1) * size)
      .reduce((sum, value) => (value === undefined ? sum : (sum ?? 0) + value), undefined),
  )
  const max = Math.max(...sums.map((sum) => sum ?? 0), 0)
  const top = SPARKLINE_CHARACTERS.length - 1
  const character = (sum: number) => SPARKLINE_CHARACTERS[max === 0 ? 0 : Math.round((sum / max) * top)]
  return sums.map((sum) => (sum === undefined ? ' ' : character(sum))).join('')
}
