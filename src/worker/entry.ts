import { createCompose } from './compose.js'
import { openOutside } from './outside.js'
import { runThread } from './thread.js'

await runThread(createCompose(openOutside))
