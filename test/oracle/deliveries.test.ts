import t from 'tap'
import { openStore } from '../fixtures/open-store.js'
import { checkDeliveries } from './deliveries.js'

t.setTimeout(1_200_000)
t.test('shuffled, split and late deliveries give what happened', { timeout: 1_200_000 }, (t) =>
  checkDeliveries(t, () => openStore(t)),
)
