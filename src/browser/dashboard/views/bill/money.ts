import { formatMoney } from '../../state/format.js'

/** An amount of money; one that would read as nothing is told to be less than the smallest that can be written. */
export function moneyText(amount: number, currency: string): string {
  const { maximumFractionDigits = 2 } = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions()
  const least = 10 ** -maximumFractionDigits
  return amount > 0 && amount < least ? `< ${formatMoney(least, currency)}` : formatMoney(amount, currency)
}
