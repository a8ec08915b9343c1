/** A promise that the last release made and this checkout does not keep. */
export interface Break {
  readonly line: string
  readonly kind: 'removed' | 'newly required'
}

/** Tells whether a line names something that callers must give. */
const isDemand = (line: string): boolean => line.endsWith(' requires a value')

/**
 * Compares the promises of the last release with those of this checkout. A removed line breaks who used it; a new demand
 * breaks who does not meet it, unless what makes it is new as well.
 */
export function findBreaks(released: readonly string[], current: readonly string[]): Break[] {
  const before = new Set(released)
  const now = new Set(current)
  const removed = released.filter((line) => !now.has(line) && !isDemand(line))
  const demands = current.filter((line) => isDemand(line) && !before.has(line) && wasThere(line, before))
  return [
    ...removed.map((line): Break => ({ line, kind: 'removed' })),
    ...demands.map((line): Break => ({ line, kind: 'newly required' })),
  ]
}

/** Tells whether the last release had what contains the demand: the call, the command or the type. */
function wasThere(line: string, before: ReadonlySet<string>): boolean {
  const [part = '', first = '', second = '', third = ''] = line.split(' ')
  if (part === 'export')
    return [...before].some((one) => one.startsWith(`export ${first} type ${third.split('.')[0]}.`))
  // A command of more words, such as `policy try`, is a command of its own.
  if (part === 'command') return before.has(line.split(/ (?:argument|flag|setting) /, 1)[0] ?? '')
  // A part of a body that is new itself, such as an optional object, may require what it likes.
  const [, object = ''] = /^(api .* body .*\$\S+)\.\w+ requires a value$/.exec(line) ?? []
  return before.has(`${part} ${first} ${second}`) && (object === '' || before.has(`${object}: object`))
}

/**
 * Leaves out the breaks that a changelog documents: their last word, or the API's path or field, stands in backticks under
 * "Removed" or "Changed" of one of the versions that came after `release`.
 */
export function undocumented(breaks: readonly Break[], changelog: string, release: string): Break[] {
  const [newer = ''] = changelog.split(new RegExp(`^## \\[?${release.replaceAll('.', '\\.')}\\b`, 'm'))
  const sections = newer.split(/^### /m).filter((section) => /^(Removed|Changed)\b/.test(section))
  const named = new Set(sections.flatMap((section) => [...section.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)))
  return breaks.filter(({ line }) => ![...named].some((name) => containsWords(line, name)))
}

/** Tells whether a line has a name as whole words: `/api/sites` does not stand for `/api/sites/{id}`. */
function containsWords(line: string, name: string): boolean {
  const at = ` ${line} `.indexOf(` ${name} `)
  // A field of a response is named by its path within the body, such as `data.visitors`.
  return at >= 0 || line.includes(` $.${name}:`) || line.includes(` ${name}: `) || line.endsWith(`.${name}`)
}
