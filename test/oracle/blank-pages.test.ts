import t from 'tap'
import { openStore } from '../fixtures/open-store.js'
import { checkBlankPages } from './blank-pages.js'

t.test('pages that are blank to machines equal their recount', async (t) => checkBlankPages(t, await openStore(t)))
