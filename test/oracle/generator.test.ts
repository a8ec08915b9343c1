import t from 'tap'
import { generatorExists, readGeneratedRows, runGenerator } from '../fixtures/event-generator.js'
import { directory } from '../fixtures/files.js'
import { openStore } from '../fixtures/open-store.js'
import { compareWithGenerator } from './generator-answers.js'

/**
 * Loads the generator's 100,000 events and asks about them; `npm run bench -- expected` does the same with a million.
 */
t.test("the reads return the generator's own answers", async (t) => {
  if (!generatorExists()) {
    t.comment('no generator: ../shared/bench is not there')
    return
  }
  const folder = directory(t)
  const expected = runGenerator(folder, 100_000)
  const store = await openStore(t)
  for await (const events of readGeneratedRows(folder, 20_000)) {
    const pages = events.filter(({ kind }) => kind === 'pageview').map((row) => ({ ...row, site_id: 2 }))
    await store.append({ events: [...events, ...pages], agent_events: [] })
  }
  for (const [what, found, wanted] of await compareWithGenerator(store, expected)) t.strictSame(found, wanted, what)
})
