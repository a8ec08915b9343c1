/** Agents that are shown before the reader asks for all of them. */
const MAX_AGENTS = 8

interface Asking {
  readonly fetches: number
  readonly pairs: readonly { readonly accepts?: string | undefined }[]
}

/** Agents that asked for Markdown, then those for another format than HTML, then those with most fetches up to eight in all. */
export function shownAgents<A extends Asking>(agents: readonly A[]): A[] {
  const rank = ({ pairs }: A): number => {
    const asked = pairs.flatMap(({ accepts }) => accepts ?? [])
    if (asked.includes('markdown')) return 0
    return asked.some((format) => format !== 'any' && format !== 'html') ? 1 : 2
  }
  return agents
    .toSorted((a, b) => rank(a) - rank(b) || b.fetches - a.fetches)
    .filter((agent, i) => i < MAX_AGENTS || rank(agent) < 2)
}
