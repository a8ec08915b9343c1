import t from 'tap'
import { openStore } from '../fixtures/open-store.js'
import { checkRandomSites } from './random-sites.js'

t.test('reads of random small sites equal the recount', (t) => checkRandomSites(t, () => openStore(t)))
