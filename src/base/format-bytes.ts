const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']

/** Formats bytes in powers of 1000. */
export function formatBytes(value: number): string {
  let unit = 0
  let amount = value
  while (amount >= 999.95 && unit < UNITS.length - 1) {
    amount /= 1000
    unit++
  }
  return `${unit === 0 ? amount : amount.toFixed(1)} ${UNITS[unit]}`
}
