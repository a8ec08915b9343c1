import t from 'tap'
import { openStore } from '../fixtures/open-store.js'
import { checkPhantomLinks } from './phantom-links.js'

t.test('missing pages equal their recount', async (t) => checkPhantomLinks(t, await openStore(t)))
