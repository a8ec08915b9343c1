import { send } from './hit.js'
import { on } from './quietly.js'

/** A page in a loop of failures says no more than this. */
const MOST = 10
const told = new Set<string>()

/** `error` is whatever was thrown; where that has no words of its own, `words` are the browser's. */
const report = (error: unknown, words: unknown): void => {
  const { name = 'Error', message = words, stack = '' } = Object(error)
  // Some browsers begin a stack with the message: a frame ends in its line and column.
  const [frame] = /\S.{0,500}:\d+:\d+\)?$/m.exec(stack) || []
  const p = { type: name, message: `${message}`.slice(0, 500), frame }
  const before = told.size
  if (before < MOST && told.add(JSON.stringify(p)).size > before) send('error', { p })
}

export const watchErrors = (): void => {
  // What could not be loaded, an image, is an event of this name as well: it has no message.
  on('error', ({ error, message }) => message && report(error, message))
  on('unhandledrejection', ({ reason }) => report(reason, reason))
}
