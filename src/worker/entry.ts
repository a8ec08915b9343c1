import { compose } from './compose.js'
import { runThread } from './thread.js'

await runThread(compose)
