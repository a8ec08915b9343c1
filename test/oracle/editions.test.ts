import t from 'tap'
import { openStore } from '../fixtures/open-store.js'
import { checkEditions } from './editions.js'

t.test('editions equal their recount', async (t) => checkEditions(t, await openStore(t)))
