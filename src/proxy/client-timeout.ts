import { ServerResponse } from 'node:http'
import { constants } from 'node:http2'
import type { Outgoing } from './response-writer.js'

/** Wait for the client no longer than `ms` without a byte of progress either way; then its connection is cut. */
export function waitForClient(res: Outgoing, ms: number): void {
  if (res.listenerCount('timeout') === 0) {
    res.on('timeout', () => {
      if (res instanceof ServerResponse) res.socket?.destroy()
      else res.stream.close(constants.NGHTTP2_CANCEL)
    })
  }
  res.setTimeout(ms)
}

/** It is the origin's turn: the client may be silent as long as it likes. */
export const stopWaiting = (res: Outgoing): void => void res.setTimeout(0)
