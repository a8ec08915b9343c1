import { parentPort, workerData } from 'node:worker_threads'
import { drawSheet } from './draw-sheet.js'

/** Thread entry: draws one sheet, because drawing takes long and the site's requests come first. */
const drawn = await drawSheet(workerData.sheet, workerData.fonts)
const bytes = new Uint8Array(drawn)
parentPort?.postMessage(bytes, [bytes.buffer])
