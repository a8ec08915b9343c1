import t from 'tap'
import { z } from 'zod'
import { loadDashboardModule } from '../../fixtures/dashboard-module.js'

interface Agent {
  name: string
  fetches: number
  pairs: readonly { accepts?: string | undefined }[]
}
const { shownAgents } = z
  .object({ shownAgents: z.custom<(agents: readonly Agent[]) => Agent[]>() })
  .parse(await loadDashboardModule('views/formats/shown-agents.ts'))

const agent = (name: string, fetches: number, ...accepts: (string | undefined)[]): Agent => ({
  ...{ name, fetches, pairs: accepts.map((format) => (format === undefined ? {} : { accepts: format })) },
})
const LARGE = Array.from({ length: 9 }, (_, i) => agent(`large ${i}`, 100 - i, 'any', undefined))

t.test('agents that asked for a format are always in the list of Formats', async (t) => {
  const rows: readonly [agents: readonly Agent[], expected: string, why: string][] = [
    [[], '', 'no agents'],
    [
      [agent('any', 9, 'any'), agent('json', 1, 'any', 'json'), agent('markdown', 2, 'any', 'markdown')],
      'markdown, json, any',
      'Markdown first, then other formats, then the most fetches',
    ],
    [
      [...LARGE, agent('small', 1, 'markdown')],
      'small, large 0, large 1, large 2, large 3, large 4, large 5, large 6',
      'the smallest of ten',
    ],
    [
      Array.from({ length: 10 }, (_, i) => agent(`${i}`, i, 'markdown')),
      '9, 8, 7, 6, 5, 4, 3, 2, 1, 0',
      'more than eight that asked for it',
    ],
    [[agent('html', 1, 'html'), agent('none', 2, undefined)], 'none, html', 'HTML is what browsers ask for'],
  ]
  for (const [agents, expected, why] of rows)
    t.equal(
      shownAgents(agents)
        .map(({ name }) => name)
        .join(', '),
      expected,
      why,
    )
})
