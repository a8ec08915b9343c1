import { openNetwork } from './network.js'
import { createPartsFactory } from './parts.js'
import { runWorkerProcess } from './process.js'

await runWorkerProcess(createPartsFactory(openNetwork))
