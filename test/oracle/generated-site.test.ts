import t from 'tap'
import { openStore } from '../fixtures/open-store.js'
import { checkGeneratedSite } from './generated-site.js'

t.test('reads of a generated site equal the recount', (t) => checkGeneratedSite(t, () => openStore(t)))
