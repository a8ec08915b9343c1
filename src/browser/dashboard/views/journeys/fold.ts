import type { DataOf } from '../../client/index.js'

type Answer = DataOf<'/api/stats/journeys'>
export type JourneyNode = Required<Answer>['nodes'][number]

export interface Journeys {
  nodes: readonly JourneyNode[]
  links: readonly { source: string; target: string; sessions: number }[]
}

/** Pages of a step that are drawn by name: more would be thinner than a line of text. */
const MAX_PAGES = 8

/** Folds the rarer pages of each step into its node `other`; sums stay as they are. */
export function foldJourneys(answer: Answer | undefined): Journeys {
  const into = new Map<string, string>()
  const nodes = new Map<string, JourneyNode>()
  const named = new Map<number, number>()
  for (const node of (answer?.nodes ?? []).toSorted((a, b) => b.sessions - a.sessions)) {
    const { depth, kind } = node
    const before = named.get(depth) ?? 0
    if (kind === 'page') named.set(depth, before + 1)
    const folded = kind === 'page' && before >= MAX_PAGES
    const id = folded ? `other:${depth}` : node.id
    into.set(node.id, id)
    const sessions = (nodes.get(id)?.sessions ?? 0) + node.sessions
    nodes.set(id, folded ? { id, depth, kind: 'other', pathname: 'other', sessions } : { ...node, sessions })
  }
  const links = new Map<string, Journeys['links'][number]>()
  for (const { source, target, sessions } of answer?.links ?? []) {
    const [from, to] = [into.get(source), into.get(target)]
    if (from === undefined || to === undefined) continue
    const key = `${from} ${to}`
    links.set(key, { source: from, target: to, sessions: (links.get(key)?.sessions ?? 0) + sessions })
  }
  return { nodes: [...nodes.values()], links: [...links.values()] }
}
