import t from 'tap'
import { testAdapterContract } from './adapter-contract.js'
import { SITES } from './sites.js'

for (const [name, start] of Object.entries(SITES)) t.test(name, async (t) => testAdapterContract(t, start))
