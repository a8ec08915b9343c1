import { z } from 'zod'
import { chainNeighbours, frequentVisits } from '../../../query/page-chains.js'
import { defineRead } from '../../../query/read.js'
import { oneAudience } from '../../../query/read-audience.js'
import type { ReadContext } from '../../../query/read-context.js'
import { stepColumns } from '../../../query/session-steps.js'
import { Count, Visits } from '../../shapes.js'

const MAX_STEPS = 8
const MAX_STEP_CHARACTERS = 2_000
const MAX_VISITS = 5
const KINDS = ['page', 'other', 'edge'] as const

const Steps = z
  .string()
  .transform((text, context): string[] => {
    const steps = text.startsWith('[') ? parseList(text) : [text]
    const isValid =
      steps !== undefined &&
      steps.length > 0 &&
      steps.length <= MAX_STEPS &&
      steps.every((step) => step !== '' && step.length <= MAX_STEP_CHARACTERS)
    if (isValid) return steps
    context.addIssue(`must be a path such as /pricing, or a JSON array of 1 to ${MAX_STEPS} paths: ["/", "/pricing"]`)
    return z.NEVER
  })
  .describe(`The pages that followed each other: a path, or a JSON array of 1 to ${MAX_STEPS} paths.`)
  .meta({ type: 'string', example: '["/","/pricing"]' })

function parseList(text: string): string[] | undefined {
  try {
    return z.array(z.string()).safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

const counts = {
  sessions: Count.optional().describe('Visits; for people.'),
  times: Count.optional().describe('How often an agent did so; for agents.'),
}
const neighbours = (edge: string, side: string) =>
  z
    .array(
      z.object({
        kind: z.enum(KINDS).describe(`\`edge\`: ${edge}. \`other\`: pages that are not named.`),
        pathname: z.string().optional().describe('Present for a page.'),
        pages: Count.optional().describe('The number of pages that are not named.'),
        ...counts,
      }),
    )
    .describe(`${side} They add up to the number of the last step.`)

/**
 * GET /api/stats/journeys/steps: what came before and after pages that followed each other. People by visits that started
 * in the window, once each; agents by each time that one client read these pages with at most 30 minutes between them.
 */
export default defineRead({
  path: '/api/stats/journeys/steps',
  summary: 'The pages before and after a chain of pages, and the visits that took it',
  params: { steps: Steps },
  audience: oneAudience(),
  compare: 'none',
  data: z.object({
    steps: z
      .array(z.object({ pathname: z.string(), ...counts }))
      .describe('The chain, each step with the number of those that took it and all steps before it.'),
    before: neighbours('nothing was viewed, or read, before', 'The page just before the first step.'),
    after: neighbours('nothing was viewed, or read, after', 'The page just after the last step.'),
    visits: z
      .array(
        z.object({
          pathnames: z.array(z.string()).describe('The first eight pages; a page that follows itself counts once.'),
          sessions: Visits,
        }),
      )
      .optional()
      .describe('The most frequent whole visits that took the steps within their first eight pages; for people.'),
  }),
  run: async (context, { steps }) => {
    const chain = await readChain(context, steps, 'sessions')
    const found = await context.rows(frequentVisits(context.plan, steps, MAX_VISITS))
    const names = stepColumns(MAX_STEPS).map(({ text }) => text.join(''))
    const visits = found.map((row) => ({
      pathnames: names.flatMap((name) => (row[name] === undefined ? [] : [String(row[name])])),
      sessions: Number(row.sessions),
    }))
    return { data: { ...chain, visits }, rows: chain.before.length + chain.after.length }
  },
  runForAgents: async (context, { steps }) => {
    const data = await readChain(context, steps, 'times')
    return { data, rows: data.before.length + data.after.length }
  },
})

async function readChain({ rows, plan }: ReadContext, steps: readonly string[], unit: 'sessions' | 'times') {
  const counted = await rows(chainNeighbours(plan, steps))
  const beside = (side: number) =>
    counted
      .filter((row) => Number(row.side) === side)
      .map(({ kind, pathname, pages, n }) => ({
        kind: z.enum(KINDS).parse(kind),
        pathname: pathname === undefined ? undefined : String(pathname),
        pages: kind === 'other' ? Number(pages) : undefined,
        n: Number(n),
      }))
      .sort(
        (a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || b.n - a.n || compareBytes(a.pathname, b.pathname),
      )
      .map(({ kind, pathname, pages, n }) => ({
        kind,
        ...(pathname === undefined ? {} : { pathname }),
        ...(pages === undefined ? {} : { pages }),
        [unit]: n,
      }))
  const taken = (step: number) =>
    counted.reduce(
      (sum, { side, matched, n }) => sum + (Number(side) === 3 && Number(matched) > step ? Number(n) : 0),
      0,
    )
  return {
    steps: steps.map((pathname, i) => ({ pathname, [unit]: taken(i) })),
    before: beside(1),
    after: beside(2),
  }
}

const compareBytes = (a = '', b = ''): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
