import { parentPort, workerData } from 'node:worker_threads'
import { drawSheet } from './draw-sheet.js'

/** A thread of its own for one sheet: what is drawn takes long, and the site comes first. */
const drawn = await drawSheet(workerData.sheet, workerData.fonts)
const bytes = new Uint8Array(drawn)
parentPort?.postMessage(bytes, [bytes.buffer])
