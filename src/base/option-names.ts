import { nearestName } from './nearest-name.js'

/** Returns the sentence about the first option that is not in `known`, with what to write instead; undefined if all are known. */
export function describeUnknownOption(of: string, options: object, known: readonly string[]): string | undefined {
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown === undefined) return undefined
  const name = unknown.slice(0, 100)
  const nearest = nearestName(name, known)
  const instead = nearest === undefined ? `. The options are ${known.join(', ')}.` : `; did you mean ${nearest}?`
  return `${name} is not an option of ${of}${instead}`
}
