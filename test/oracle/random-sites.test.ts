import t from 'tap'
import { openStore } from '../fixtures/open-store.js'
import { checkRandomSites } from './random-sites.js'

t.test('a stream of small sites', (t) => checkRandomSites(t, () => openStore(t)))
