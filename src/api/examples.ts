import { readFileSync } from 'node:fs'
import { z } from 'zod'

const Example = z.object({
  /** Path and query of the request. */
  request: z.string(),
  body: z.unknown().optional(),
  /** The response with its lists cut to two entries; absent if it is not JSON. */
  answer: z.unknown().optional(),
})
export type Example = z.output<typeof Example>

let cachedExamples: ReadonlyMap<string, Example> | undefined

/**
 * Returns one recorded call of each route, by `get /api/stats/overview`. The calls are made against the tests' sample rows:
 * `node dist/test/api/openapi.test.js --write` records them again, and the test fails while they differ.
 */
export function loadExamples(): ReadonlyMap<string, Example> {
  const file = new URL('../../data/api-examples.json', import.meta.url)
  cachedExamples ??= new Map(
    Object.entries(z.record(z.string(), Example).parse(JSON.parse(readFileSync(file, 'utf8')))),
  )
  return cachedExamples
}
