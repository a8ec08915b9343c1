import { type Audience, type Filter, type FilterNode, go, isFilter, place } from './address.js'

const same = (a: FilterNode, b: FilterNode): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Adds a filter, or removes it if it is there already. A second value of the same dimension joins the first. */
export function toggleFilter(dimension: string, value: string | number | boolean, exclude = false): void {
  const filter: Filter = { dimension, op: exclude ? 'is_not' : 'is', value }
  const { filters } = place.value
  const kept = filters.filter((node) => !same(node, filter))
  go({ filters: kept.length < filters.length ? kept : [...filters, filter] })
}

export const isFiltered = (dimension: string, value: string | number | boolean): boolean =>
  place.value.filters.some(
    (node) => isFilter(node) && node.dimension === dimension && node.op === 'is' && node.value === value,
  )

export const removeFilter = (index: number): void => go({ filters: place.value.filters.filter((_, i) => i !== index) })

export const replaceFilter = (index: number, node: FilterNode): void =>
  go({ filters: place.value.filters.map((old, i) => (i === index ? node : old)) })

/** The parameter `filters` of the question on screen with further conditions, for a panel that asks about less. */
export const filtersWith = (...nodes: readonly FilterNode[]): string =>
  JSON.stringify([...place.value.filters, ...nodes])

export const addFilter = (node: FilterNode): void => go({ filters: [...place.value.filters, node] })

/** Returns the filters of a node and of all groups below it. */
export function leaves(node: FilterNode): Filter[] {
  if (isFilter(node)) return [node]
  return [...(node.and ?? []), ...(node.or ?? []), ...(node.not ? [node.not] : [])].flatMap(leaves)
}

/** A dimension as the API describes it, with the readerships that have it. */
export interface Dimension {
  name: string
  type: 'text' | 'number' | 'boolean' | 'flag'
  audiences: readonly string[]
  operators: readonly string[]
}

/** Returns the first filter on screen that a readership does not have. */
export const lacking = (audience: Audience, dimensions: readonly Dimension[]): Filter | undefined =>
  place.value.filters
    .flatMap(leaves)
    .find(({ dimension }) => dimensions.find(({ name }) => name === dimension)?.audiences.includes(audience) === false)
