import t from 'tap'
import { adapterContract } from './contract.js'
import { SITES } from './sites.js'

for (const [name, start] of Object.entries(SITES)) t.test(name, async (t) => adapterContract(t, start))
