import t from 'tap'
import { openStore } from '../fixtures/open-store.js'
import { checkGeneratedSite } from './generated-site.js'

t.test('a generated site', (t) => checkGeneratedSite(t, () => openStore(t)))
