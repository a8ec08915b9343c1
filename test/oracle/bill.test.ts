import t from 'tap'
import { openStore } from '../fixtures/open-store.js'
import { checkBill } from './bill.js'

t.test('the bill equals its recount', async (t) => checkBill(t, await openStore(t)))
