import { checkOnClickHouse, openOn } from './on-clickhouse.js'
import { storeContract } from './store-contract.js'
import { takeoverContract } from './takeover-contract.js'
import { writeContract } from './write-contract.js'

/** How a store on ClickHouse keeps rows, and who may write; its reads are a program of their own. */
checkOnClickHouse((t, server) => {
  storeContract(t, (t) => openOn(t, server))
  writeContract(t, server)
  takeoverContract(t, server)
})
