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

const APP_SCHEME = 'android-app://'

/** The same, and the hosts and apps of each as `ASSISTANT_REFERRER_PATTERN` finds them. */
export const ASSISTANT_NAMES: typeof ASSISTANTS = ASSISTANT_REFERRERS.operators.flatMap(({ hosts, apps }, i) => {
  const { source = '', operator = '' } = ASSISTANTS[i] ?? {}
  return [source, ...hosts, ...apps.map((app) => APP_SCHEME + app)].map((name) => ({ source: name, operator }))
})

// Without backslashes, which engines read differently in texts.
const anyOf = (words: readonly string[]) => `(?:${words.map((word) => word.replace(/[.+*?]/g, '[$&]')).join('|')})`
const every = (field: 'hosts' | 'apps') => anyOf(ASSISTANT_REFERRERS.operators.flatMap((one) => one[field]))

/**
 * Finds the assistant in a stored referrer: the group is the host, the host with a path, or the Android app of
 * `ai-referrers.json`. RE2 and JavaScript.
 */
export const ASSISTANT_REFERRER_PATTERN = `^(?:https?://(?:[^/]*[.])?)?(${every('hosts')}|${APP_SCHEME}${every('apps')})[.]?(?:/|$)`

/** Matches the name of an assistant as a source. RE2 and JavaScript. */
export const ASSISTANT_NAME_PATTERN = `^${anyOf(ASSISTANTS.map(({ source }) => source))}$`
