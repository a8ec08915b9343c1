import { createCompose } from './compose.js'
import { openOutside } from './outside.js'
import { runProcess } from './process.js'

await runProcess(createCompose(openOutside))
