import { z } from 'zod'

/** With more stars a pattern says less and costs more: each is a search through the path. */
const MAX_STARS = 3
const MAX_CHARACTERS = 200
export const MAX_SECTIONS = 50

/** Paths are stored as browsers send them: a letter beyond ASCII, and a space, are percent-encoded. */
const encodePath = (text: string): string => text.replace(/[^\x21-\x7e]+/gu, encodeURIComponent)

/**
 * A pattern of whole paths. `*` stands for any text, slashes included, also for none. A pattern that ends with `/*` also fits
 * the folder itself, without its slash.
 */
export const SectionPattern = z
  .string()
  .regex(/^\//, 'A pattern is the path of pages: it must begin with /, such as /blog/*.')
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'A pattern must not contain control characters.')
  .refine((text) => !text.includes('?'), 'A pattern has no query string: leave out ? and what follows.')
  .refine((text) => !text.includes('**'), 'Write * once: it stands for any text, slashes included.')
  .refine((text) => text.split('*').length - 1 <= MAX_STARS, `A pattern can contain * at most ${MAX_STARS} times.`)
  .transform(encodePath)
  .refine((text) => text.length <= MAX_CHARACTERS, `A pattern has at most ${MAX_CHARACTERS} characters.`)

/** A folder directly below the root: the only form of the patterns that are found. */
const FOLDER = /^\/([^/*]+)\/\*$/
/** Returns the name of the folder of `/name/*`; undefined for any other pattern. */
export const folderOf = (pattern: string): string | undefined => FOLDER.exec(pattern)?.[1]

/** Whether a pattern fits a path; decided in one pass through the path. */
export function fitsPattern(pattern: string, path: string): boolean {
  if (pattern.endsWith('/*') && fitsParts(pattern.slice(0, -2).split('*'), path)) return true
  return fitsParts(pattern.split('*'), path)
}

/** Whether a path is these parts with any text between them. */
export function fitsParts([first = '', ...others]: readonly string[], path: string): boolean {
  if (!path.startsWith(first)) return false
  const last = others.pop()
  if (last === undefined) return path.length === first.length
  let at = first.length
  for (const part of others) {
    const found = path.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return path.length - last.length >= at && path.endsWith(last)
}
