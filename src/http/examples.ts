import { readFileSync } from 'node:fs'
import { z } from 'zod'

const Example = z.object({
  /** Path and query that was asked. */
  request: z.string(),
  body: z.unknown().optional(),
  /** What was answered, lists cut to their first two; absent where that is not JSON. */
  answer: z.unknown().optional(),
})
export type Example = z.output<typeof Example>

let cachedExamples: ReadonlyMap<string, Example> | undefined

/**
 * By `get /api/stats/overview`: one true call of each route, recorded from the service over the tests' sample rows.
 * `node dist/test/http/openapi.test.js --write` records them anew; the test fails while they differ.
 */
export function loadExamples(): ReadonlyMap<string, Example> {
  cachedExamples ??= new Map(
    Object.entries(
      z
        .record(z.string(), Example)
        .parse(JSON.parse(readFileSync(new URL('./examples.json', import.meta.url), 'utf8'))),
    ),
  )
  return cachedExamples
}
