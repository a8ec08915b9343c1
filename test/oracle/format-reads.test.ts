import t from 'tap'
import { openStore } from '../fixtures/open-store.js'
import { checkFormatReads } from './format-reads.js'

t.test('formats and links of llms.txt equal their recount', async (t) => checkFormatReads(t, await openStore(t)))
