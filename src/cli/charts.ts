const BAR_EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** Columns of a bar in a terminal so wide; none where it would leave no room for words. */
export const barWidth = (columns: number | undefined): number =>
  columns === undefined ? 16 : Math.max(0, Math.min(24, Math.floor((columns - 24) / 4)))

/** A value's share of the largest as a bar of at most `width` columns, in eighths of one; what is there is seen. */
export function bar(value: number, most: number, width: number): string {
  if (!(value > 0) || !(most > 0) || width < 1) return ''
  const eighths = Math.max(1, Math.round((Math.min(value, most) / most) * width * 8))
  return '█'.repeat(Math.floor(eighths / 8)) + (BAR_EIGHTHS[eighths % 8] ?? '')
}
