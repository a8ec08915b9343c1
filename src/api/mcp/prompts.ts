import type { McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'

const Arguments = z.object({
  site: z
    .string()
    .regex(/^\d{1,9}$/, 'must be the id of a site')
    .optional()
    .describe('Id of the site.'),
})

const PROMPTS = [
  {
    name: 'weekly_review',
    title: 'Review the week',
    description: 'People and agents of the last seven days, and what deserves attention.',
    text: `Review the last seven days{site}.
1. compare the reports overview and agents/overview (range 7d).
2. what_changed for human, then for agent.
3. notes of these days, and violations.
4. ask the reports editions/summary and blank-pages.
Write at most ten sentences: people first, then agents, then what to do. Give each number with its change and link. Do not add people and agents. Pass on every warning.`,
  },
  {
    name: 'takes_and_sends',
    title: 'Taking and sending',
    description: 'Per AI operator: what it reads and costs, and how many readers it sends back.',
    text: `Say who takes from the site and who sends readers{site} (range 30d).
1. ask the report bill.
2. citation_gap, then ask the report answers with other {"by":"operator"}.
3. violations by agents.
Make one table: operator, fetches, bytes, cost if the owner set prices, readers sent, cost per reader, violations. "Followed by" is a correlation. Then name the three pages with the largest gap.`,
  },
  {
    name: 'why_did_it_rise',
    title: 'Why did it rise or fall?',
    description: 'Finds what made a number change, and says whether chance explains it.',
    text: `Find out why the traffic changed{site}.
1. what_changed (range 7d) for human, then for agent; repeat with 30d if the change is older.
2. ask the report timeseries for the days, and notes for what happened then.
3. For the page or source that explains most: page, or ask with a filter on it.
State the cause only if what_changed names one; otherwise say what is known and what is chance.`,
  },
] as const

/** Adds the questions that an owner asks again and again, as prompts. */
export function addPrompts(server: McpServer): void {
  for (const { name, title, description, text } of PROMPTS)
    server.registerPrompt(name, { title, description, argsSchema: Arguments }, ({ site }) => ({
      messages: [
        {
          role: 'user',
          content: { type: 'text', text: text.replace('{site}', site === undefined ? '' : ` of site ${site}`) },
        },
      ],
    }))
}
