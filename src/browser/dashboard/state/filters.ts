import { computed, signal } from '@preact/signals'
import { type Audience, type Filter, type FilterNode, go, isFilter, place } from './address.js'

type Single = string | number | boolean

export const valuesOf = ({ value }: Filter): Single[] => (value === undefined ? [] : [value].flat())

/** Adds a filter, or removes it if it is there already. A second value of the same dimension joins the first. */
export function toggleFilter(dimension: string, value: Single, exclude = false): void {
  const op = exclude ? 'is_not' : 'is'
  const { filters } = place.value
  const index = filters.findIndex((node) => isFilter(node) && node.dimension === dimension && node.op === op)
  const old = filters[index]
  const values = old && isFilter(old) ? valuesOf(old) : []
  const kept = values.filter((each) => each !== value)
  const next = kept.length < values.length ? kept : [...values, value]
  // A truth has no list of values: the other one takes its place.
  const list = next.filter((each) => typeof each !== 'boolean')
  const changed: Filter = { dimension, op, value: list.length > 1 ? list : (next.at(-1) ?? value) }
  if (index < 0) go({ filters: [...filters, changed] })
  else if (next.length === 0) removeFilter(index)
  else replaceFilter(index, changed)
}

export const isFiltered = (dimension: string, value: Single): boolean =>
  place.value.filters.some(
    (node) => isFilter(node) && node.dimension === dimension && node.op === 'is' && valuesOf(node).includes(value),
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

/** The site's segments; empty until the API has listed them. */
export const segments = signal<readonly { id: number; filters: readonly FilterNode[] }[]>([])

/** The filters of the segment on screen. */
const segmentFilters = computed(() => segments.value.find(({ id }) => id === place.value.segment)?.filters ?? [])

/** Returns the first filter on screen, or of the segment on screen, that a readership does not have. */
export const lacking = (audience: Audience, dimensions: readonly Dimension[]): Filter | undefined =>
  [...place.value.filters, ...segmentFilters.value]
    .flatMap(leaves)
    .find(({ dimension }) => dimensions.find(({ name }) => name === dimension)?.audiences.includes(audience) === false)
