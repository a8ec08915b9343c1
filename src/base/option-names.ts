import { nearestName } from './nearest-name.js'

/** Returns the sentence about the first option that is not in `known`, with what to write instead; undefined if all are known. */
export function describeUnknownOption(of: string, options: object, names: readonly string[]): string | undefined {
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  if (unknown === undefined) return undefined
  const name = unknown.slice(0, 100)
  const nearest = nearestName(name, names)
  const instead = nearest === undefined ? `. The options are ${names.join(', ')}.` : `; did you mean ${nearest}?`
  return `${name} is not an option of ${of}${instead}`
}
