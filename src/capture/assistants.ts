import { readFileSync } from 'node:fs'
import { z } from 'zod'

const words = z.array(z.string()).default([])

/** The AI assistants that refer visitors, from `ai-referrers.json`: their hosts (`host/path` where a path is one), Android apps and campaign tags. */
export const ASSISTANT_REFERRERS = z
  .object({
    utm_medium: words,
    operators: z.array(
      z.object({ operator: z.string(), product: z.string(), hosts: words, apps: words, utm_source: words }),
    ),
  })
  .parse(JSON.parse(readFileSync(new URL('./ai-referrers.json', import.meta.url), 'utf8')))

/** Operators whose name in the catalog of agents differs. */
const CATALOG_OPERATORS: Readonly<Record<string, string>> = { Manus: 'Butterfly Effect (Manus)', Zhipu: 'Zhipu AI' }

/** The sources that are AI assistants, each with its operator by the name in the catalog of agents. */
export const ASSISTANTS: readonly { readonly source: string; readonly operator: string }[] =
  ASSISTANT_REFERRERS.operators.map(({ operator, product }) => ({
    source: product,
    operator: CATALOG_OPERATORS[operator] ?? operator,
  }))
