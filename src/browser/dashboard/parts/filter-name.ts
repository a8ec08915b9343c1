import { type FilterNode, isFilter, place } from '../state/address.js'
import { useRead } from '../state/data.js'
import { leaves } from '../state/filters.js'
import { formatCountry, formatLanguage } from '../state/format.js'
import { shownPath } from '../state/path-name.js'
import { shareSlug, siteQuery } from '../state/question.js'
import { t } from '../texts/index.js'

/** The question about the site's segments; a share link has none. */
export const segmentsQuery = () =>
  shareSlug.value === undefined && siteQuery.value.site !== undefined ? { site: siteQuery.value.site } : undefined

export const useSegments = () => useRead('/api/segments', segmentsQuery())

export const operatorName = (op: string): string => t().shell.operators[op] ?? op

/** The name of a dimension in the reader's language. */
export function dimensionName(name: string): string {
  const { dimension, property } = t().filters
  return dimension[name] ?? (name.startsWith('prop:') ? property(name.slice(5)) : name)
}

/** Values that have names in the reader's language, by dimension. */
function valueName(dimension: string, value: string): string {
  const { devices, filters, parts } = t()
  const names: Record<string, Readonly<Record<string, string>>> = {
    channel: parts.channel,
    device_type: devices.type,
    kind: filters.kind,
    purpose: parts.purpose,
    screen_class: devices.screenClass,
    verification: filters.verification,
  }
  if (dimension === 'country') return formatCountry(value)
  if (dimension === 'language') return formatLanguage(value)
  if (PATHS.includes(dimension)) return shownPath(value)
  return names[dimension]?.[value] ?? value
}
const PATHS = ['pathname', 'section', 'entry_page', 'exit_page']

export function valueText(dimension: string, value: unknown): string {
  if (typeof value === 'boolean') return value ? t().shell.yes : t().shell.no
  if (Array.isArray(value)) return value.map((each) => valueText(dimension, each)).join(` ${t().shell.or} `)
  if (typeof value === 'string') return valueName(dimension, value)
  return value === undefined ? '' : `${value}`
}

/** A filter in words: AND is silent, OR and NOT are words. */
export function describeFilter(node: FilterNode): string {
  const { shell } = t()
  if (isFilter(node))
    return `${dimensionName(node.dimension)} ${operatorName(node.op)} ${valueText(node.dimension, node.value)}`.trim()
  if (node.or) return node.or.map(describeFilter).join(` ${shell.or} `)
  if (node.and) return node.and.map(describeFilter).join(` ${shell.and} `)
  if (node.not) return `${shell.not} (${describeFilter(node.not)})`
  return JSON.stringify(node)
}

/** The dimensions of the filters on screen. */
export const filteredBy = (): readonly string[] => [
  ...new Set(place.value.filters.flatMap(leaves).map(({ dimension }) => dimension)),
]

/** The foot of a list of AI visits: with a filter by page it counts other visits than the citation gap. */
export function aiVisitsFoot(): string {
  const { aiFoot, aiOfPage } = t().overview
  return filteredBy().includes('pathname') ? `${aiOfPage} ${aiFoot}` : aiFoot
}
