import { send } from './send.js'
import { listen } from './swallow-errors.js'

/** Distinct errors that one document reports, so that a loop of failures ends. */
const MAX_ERRORS = 10
const reported = new Set<string>()

/** Reports what was thrown, or the reason of a rejection; the browser's own message only for a value without one. */
const report = ({
  target,
  reason,
  error = reason,
  message: fallback = reason,
}: Partial<ErrorEvent & PromiseRejectionEvent>): void => {
  // An image that fails to load fires an event of this name too.
  if (target !== window) return
  const { name = 'Error', message = fallback, stack = '' } = Object(error)
  // Some browsers begin a stack with the message; a frame is a line that ends in its line and column.
  const [frame] = /\S.{0,500}:\d+:\d+\)?$/m.exec(stack) || []
  const p = { type: name, message: `${message}`.slice(0, 500), frame }
  const before = reported.size
  if (before < MAX_ERRORS && reported.add(JSON.stringify(p)).size > before) send({ t: 'error', p })
}

/** Reports uncaught errors and unhandled rejections. */
export const watchErrors = (): void => {
  listen('error', report)
  listen('unhandledrejection', report)
}
