import { type ConnectionOptions, OriginConnection, type OriginRequest } from './connection.js'
import { originFailure } from './failure.js'

/** Time for which an idle connection is kept if the origin does not say, ms: Node closes one after 5 s. */
const DEFAULT_IDLE_MS = 4_000
/** Idle connections are closed this long before the origin would do it, ms. */
const IDLE_MARGIN_MS = 2_000
const MAX_IDLE_MS = 600_000

/** Connections to the origin that requests share, as many as are in use at once. */
export class OriginPool {
  /** The connection that was used last is used next, so that those beyond need end. */
  readonly #idle: OriginConnection[] = []
  readonly #all = new Set<OriginConnection>()
  #waiting: OriginRequest[] = []

  /** `idleMs` is the time for which an idle connection is kept if the origin does not say. */
  constructor(
    readonly options: ConnectionOptions,
    readonly idleMs = DEFAULT_IDLE_MS,
  ) {}

  /** Sends a request on an idle connection, or on a new one. */
  send(request: OriginRequest): void {
    if (this.#idle.length === 0) {
      this.connect(request)
      return
    }
    // After all events of this turn: an idle connection may have ended, or its origin may have sent what was not
    // requested, and the event for it may come after ours.
    if (this.#waiting.push(request) === 1) setImmediate(this.#sendWaiting)
  }

  readonly #sendWaiting = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    for (const request of waiting) {
      if (request.isAbandoned) continue
      const connection = this.#idle.pop()
      if (connection === undefined) this.connect(request)
      else connection.send(request)
    }
  }

  /** Sends a request on a new connection. */
  connect(request: OriginRequest): void {
    try {
      this.#all.add(new OriginConnection(this.options, this, request))
    } catch (error) {
      // Settings that TLS refuses.
      request.onFailure(originFailure(error), false)
    }
  }

  onIdle(connection: OriginConnection, announcedMs: number | undefined): void {
    const ms = announcedMs === undefined ? this.idleMs : Math.min(announcedMs - IDLE_MARGIN_MS, MAX_IDLE_MS)
    if (ms <= 0) {
      connection.destroy()
      return
    }
    connection.expireAt(this.options.deadlines.before(ms))
    this.#idle.push(connection)
  }

  onGone(connection: OriginConnection): void {
    this.#all.delete(connection)
    const at = this.#idle.indexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
  }

  /** Closes all connections, also those in use. */
  destroy(): void {
    for (const connection of this.#all) connection.destroy()
  }
}
