import { createPartsFactory, openNetwork } from './parts.js'
import { runWorkerProcess } from './process.js'

await runWorkerProcess(createPartsFactory(openNetwork))
