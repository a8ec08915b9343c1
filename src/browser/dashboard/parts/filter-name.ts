import { type FilterNode, isFilter } from '../state/address.js'
import { useRead } from '../state/data.js'
import { formatCountry } from '../state/format.js'
import { shareSlug, siteQuery } from '../state/question.js'
import { t } from '../texts/index.js'

export const useSegments = () =>
  useRead(
    '/api/segments',
    shareSlug.value === undefined && siteQuery.value.site !== undefined ? { site: siteQuery.value.site } : undefined,
  )

export const operatorName = (op: string): string => t().shell.operators[op] ?? op

export function valueText(dimension: string, value: unknown): string {
  if (typeof value === 'boolean') return value ? t().shell.yes : t().shell.no
  if (Array.isArray(value)) return value.map((each) => valueText(dimension, each)).join(` ${t().shell.or} `)
  if (dimension === 'country' && typeof value === 'string') return formatCountry(value)
  return value === undefined ? '' : `${value}`
}

/** A filter in words: AND is silent, OR and NOT are words. */
export function describeFilter(node: FilterNode): string {
  const { shell } = t()
  if (isFilter(node))
    return `${node.dimension} ${operatorName(node.op)} ${valueText(node.dimension, node.value)}`.trim()
  if (node.or) return node.or.map(describeFilter).join(` ${shell.or} `)
  if (node.and) return node.and.map(describeFilter).join(` ${shell.and} `)
  if (node.not) return `${shell.not} (${describeFilter(node.not)})`
  return JSON.stringify(node)
}
