import { computed, signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { ReadPath } from '../client/index.js'
import { type Audience, place, type Show, siteId } from './address.js'
import { type Params, type Result, useRead } from './data.js'
import { type Dimension, lacking } from './filters.js'
import { shownWindow, windowOf } from './window.js'

/** The slug of the share link through which the page is read, if it is. */
export const shareSlug = signal<string | undefined>(undefined)

/** The dimensions that the site can be filtered by; empty until the API has told. */
export const dimensions = signal<readonly Dimension[]>([])

/** The audiences on screen: `both` is two questions, never a sum. */
export const audiences = computed<readonly Audience[]>(() => audiencesOf(place.value.show))
const audiencesOf = (show: Show): readonly Audience[] => (show === 'both' ? ['human', 'agent'] : [show])

/** The query parameters that say whose question it is: the site, and the share link. */
export const siteQuery = computed(() => ({
  site: siteId.value,
  ...(shareSlug.value === undefined ? {} : { share: shareSlug.value }),
}))

/** The query parameters of the window without filters and audience. */
const windowQuery = computed(() => {
  const { range, start, end } = place.value
  return start !== undefined && end !== undefined ? { start, end } : { range }
})

/** The envelope of the question on screen, for one audience. */
export function envelope(audience: Audience): Record<string, string | number | undefined> {
  const { compare, filters, segment, suspected } = place.value
  return {
    ...siteQuery.value,
    ...windowQuery.value,
    compare: compare === 'none' ? undefined : compare,
    filters: filters.length > 0 ? JSON.stringify(filters) : undefined,
    segment,
    suspected: audience === 'human' ? suspected : undefined,
    audience,
  }
}

/** Why a readership cannot be asked: a filter on screen is a dimension that it does not have. */
export const obstacle = (audience: Audience): string | undefined => lacking(audience, dimensions.value)?.dimension

/** The readership or readerships that the question on screen can be asked of: not one that lacks a filter. */
export const askable = computed<Show>(() => {
  const able = audiences.value.filter((of) => obstacle(of) === undefined)
  return able.length === 1 && able[0] ? able[0] : place.value.show
})

/** One answer per readership on screen. A readership that is not on screen is not asked. */
export type Pair<P extends ReadPath> = Record<Audience, Result<P>>

/**
 * Asks a read for each readership on screen. `more` are further parameters, by readership if it is a function; it
 * returns undefined for a readership that has no such read.
 */
export function usePair<P extends ReadPath>(
  path: P,
  more: Params | ((audience: Audience) => Params | undefined) = {},
): Pair<P> {
  return { human: useSide(path, 'human', more), agent: useSide(path, 'agent', more) }
}

function useSide<P extends ReadPath>(
  path: P,
  audience: Audience,
  more: Params | ((audience: Audience) => Params | undefined),
): Result<P> {
  const own = typeof more === 'function' ? more(audience) : more
  const isAsked = own !== undefined && audiences.value.includes(audience) && obstacle(audience) === undefined
  return useShown(useRead<P>(path, isAsked ? { ...envelope(audience), ...own } : undefined))
}

/**
 * Returns a pair whose answers change together, for a list that joins both: while either is under way, the answers from
 * before stay. Otherwise rows would move under the pointer when the second answer comes.
 */
export function useTogether<P extends ReadPath>(pair: Pair<P>): Pair<P> {
  const drawn = useRef(pair)
  if (!pair.human.loading && !pair.agent.loading) drawn.current = pair
  const { human, agent } = drawn.current
  return { human: withAnswer(pair.human, human), agent: withAnswer(pair.agent, agent) }
}

/** The state of one result with the answer of another. */
function withAnswer<P extends ReadPath>(state: Result<P>, answer: Result<P>): Result<P> {
  const { data, meta, ...rest } = state
  return answer.data === undefined
    ? rest
    : { ...rest, data: answer.data, ...(answer.meta ? { meta: answer.meta } : {}) }
}

/** Keeps the window of an answer about what is on screen. */
function useShown<P extends ReadPath>(answer: Result<P>): Result<P> {
  const { meta, stale } = answer
  useEffect(() => {
    const query = typeof meta === 'object' && meta !== null && 'query' in meta ? Object(meta.query) : undefined
    const window = stale ? undefined : windowOf(query)
    if (window) shownWindow.value = window
  }, [meta, stale])
  return answer
}

/** Asks a read of one readership alone, with the window and the filters on screen, if it is wanted. */
export function useOne<P extends ReadPath>(path: P, audience: Audience, more: Params = {}, isWanted = true): Result<P> {
  const isAsked = isWanted && obstacle(audience) === undefined
  return useShown(useRead(path, isAsked ? { ...envelope(audience), ...more } : undefined))
}

/** The envelope of a read that compares both readerships, whatever is on screen. */
export const mixedEnvelope = (): Record<string, string | number | undefined> => ({
  ...envelope('agent'),
  suspected: place.value.suspected,
  audience: 'all',
  compare: undefined,
})
