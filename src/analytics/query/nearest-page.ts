import { editDistance } from '../../base/nearest-name.js'

/** Why a living page is near a missing one, the nearest reason first. */
export const NEAR_REASONS = ['same_name', 'moved', 'spelling', 'words', 'parent'] as const
export type NearReason = (typeof NEAR_REASONS)[number]

/** A page that exists: delivered to people or agents, or listed by a sitemap. */
export interface LivingPage {
  readonly hostname: string
  readonly pathname: string
  readonly in_sitemap: boolean
}

export interface NearPage extends LivingPage {
  readonly reason: NearReason
}

/** A page with what its path is compared by. */
interface Candidate {
  readonly page: LivingPage
  readonly name: string
}

/** A sender chooses a path, and the time of a comparison grows with its length. */
const MAX_NAME_CHARS = 80
/** Names compared letter by letter with one missing page, and pages that share a word with it. */
const MAX_COMPARED = 500
const MAX_EDITS = 2
/** A shorter name is near to too many others. */
const MIN_NAME_CHARS = 4
const MIN_SHARED_WORDS = 2

/**
 * Creates the function that finds the living page nearest to a missing one, on the same hostname: of two with one reason
 * the one that comes first in `pages`. It takes at most 500 comparisons, each of at most 80 letters.
 */
export function createNearestPage(pages: readonly LivingPage[]) {
  const living = new Set(pages.map(({ hostname, pathname }) => keyOf(hostname, pathname)))
  const byPath = new Map<string, LivingPage>()
  const byName = new Map<string, LivingPage>()
  const byFolder = new Map<string, Candidate[]>()
  const byWord = new Map<string, Candidate[]>()
  for (const page of pages) {
    const { folder, name, words } = splitPath(page.pathname)
    const candidate = { page, name }
    setFirst(byPath, keyOf(page.hostname, `${folder}/${name}`), page)
    if (name !== '') setFirst(byName, keyOf(page.hostname, name), page)
    addTo(byFolder, keyOf(page.hostname, folder), candidate)
    for (const word of words) addTo(byWord, keyOf(page.hostname, word), candidate)
  }
  return ({ hostname, pathname }: { hostname: string; pathname: string }): NearPage | undefined => {
    const { folder, name, words } = splitPath(pathname)
    const find = (): [LivingPage | undefined, NearReason][] => [
      [byPath.get(keyOf(hostname, `${folder}/${name}`)), 'same_name'],
      [name.length >= MIN_NAME_CHARS ? byName.get(keyOf(hostname, name)) : undefined, 'moved'],
      [nearestSpelling(name, byFolder.get(keyOf(hostname, folder)) ?? []), 'spelling'],
      [mostWords(words, (word) => byWord.get(keyOf(hostname, word)) ?? []), 'words'],
      [nearestParent(folder, (path) => byPath.get(keyOf(hostname, path))), 'parent'],
    ]
    if (living.has(keyOf(hostname, pathname))) return undefined
    const [page, reason] = find().find(([page]) => page !== undefined) ?? []
    return page && reason && { ...page, reason }
  }
}

const keyOf = (hostname: string, text: string): string => `${hostname}\n${text}`
const setFirst = <V>(map: Map<string, V>, key: string, value: V) => void (map.has(key) || map.set(key, value))
const addTo = <V>(map: Map<string, V[]>, key: string, value: V) => {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else if (list.length < MAX_COMPARED) list.push(value)
}

/** Splits a path into its folder and its name: lower case, without a slash at the end, an extension of pages, or `index`. */
function splitPath(pathname: string): { folder: string; name: string; words: ReadonlySet<string> } {
  const plain = decodePath(pathname)
    .toLowerCase()
    .replace(/\/+$/, '')
    .replace(/\.(?:x?html?|shtml|php|aspx?|jspx?)$/, '')
    .replace(/\/(?:index|default)$/, '')
  const slash = plain.lastIndexOf('/')
  const name = plain.slice(slash + 1)
  const words = new Set(name.slice(0, MAX_NAME_CHARS).match(/[\p{L}\p{N}]{3,}/gu) ?? [])
  return { folder: plain.slice(0, Math.max(0, slash)), name, words }
}

function decodePath(pathname: string): string {
  try {
    return decodeURIComponent(pathname)
  } catch {
    return pathname
  }
}

function nearestSpelling(name: string, candidates: readonly Candidate[]): LivingPage | undefined {
  if (name.length < MIN_NAME_CHARS || name.length > MAX_NAME_CHARS) return undefined
  let best: { page: LivingPage; edits: number } | undefined
  for (const candidate of candidates) {
    if (candidate.name.length < MIN_NAME_CHARS || Math.abs(candidate.name.length - name.length) > MAX_EDITS) continue
    // A number that differs names another page, as the issue before.
    if (name.replace(/\d+/g, '') === candidate.name.replace(/\d+/g, '')) continue
    const edits = editDistance(name, candidate.name)
    if (edits <= Math.min(MAX_EDITS, name.length / 4) && edits < (best?.edits ?? Infinity))
      best = { page: candidate.page, edits }
  }
  return best?.page
}

/** Finds the page whose name shares most words: at least two, and half of the words of both together. */
function mostWords(
  words: ReadonlySet<string>,
  pagesWith: (word: string) => readonly Candidate[],
): LivingPage | undefined {
  const shared = new Map<Candidate, number>()
  for (const word of words)
    for (const candidate of pagesWith(word)) shared.set(candidate, (shared.get(candidate) ?? 0) + 1)
  let best: { page: LivingPage; share: number } | undefined
  for (const [candidate, count] of shared) {
    if (count < MIN_SHARED_WORDS) continue
    const other = splitPath(candidate.page.pathname).words
    const share = count / (words.size + other.size - count)
    if (share >= 0.5 && share > (best?.share ?? 0)) best = { page: candidate.page, share }
  }
  return best?.page
}

/** Finds the nearest folder above that is a page itself; the home page is near to nothing. */
function nearestParent(folder: string, pageAt: (path: string) => LivingPage | undefined): LivingPage | undefined {
  for (let at = folder; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
    const page = pageAt(at)
    if (page !== undefined) return page
  }
  return undefined
}
