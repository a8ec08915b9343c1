import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { ArrivingRequest, FetchDecision, Redirection } from './decision.js'
import type { Observation } from './observation.js'

/** The interface that the proxy and every adapter use: record an exchange, answer an API request, close. */
export interface Readership {
  /** Records one finished exchange. Never throws and never waits, because a site must not slow down or fail for it. */
  record(observation: Observation): void
  /**
   * Returns what the rules for agents say about a request of the site; undefined if they say nothing. Optional, for
   * readerships without rules. Never throws and never waits.
   */
  decide?(request: ArrivingRequest): FetchDecision | undefined
  /**
   * Returns the redirect to send if the site responds to a request with 404 or 410; undefined without one. Optional, for
   * readerships without redirects. Never throws and never waits.
   */
  redirect?(request: ArrivingRequest): Redirection | undefined
  /** Answers a request to the HTTP API. `peer.ip` is the client's address. */
  fetch(request: Request, peer: { ip: string }): Promise<Response>
  /**
   * A faster `fetch` for the requests that browsers send most, on Node's own objects: answers a tracker request and
   * returns true, or leaves any other request untouched and returns false. Optional; without it `fetch` answers all.
   */
  hit?(req: IncomingMessage | Http2ServerRequest, res: ServerResponse | Http2ServerResponse, to: TrackTarget): boolean
  /**
   * Tells where the adapter serves the service, which is known at the first request only. The adapter calls it once.
   * Optional, and only for messages and links.
   */
  mounted?(at: MountPoint): void
  /** Stores what is buffered and releases files, sockets and processes. */
  close(): Promise<void>
}

/** A readership that an application has opened and has to close. */
export interface OpenReadership extends Readership {
  /**
   * Ends responses that last until their reader leaves, such as the live view of the dashboard. Call it before the
   * server's own `close`, which would wait for them.
   */
  endStreams(): void
}

/** The place at which an adapter serves the service. */
export interface MountPoint {
  scheme: 'http' | 'https'
  /** `Host` or `:authority` of the first request: its sender may have made it up. */
  host: string
  /** The port on which the application listens; undefined if it listens on a socket without one. */
  port: number | undefined
  /** Path of the service, without a trailing slash. */
  basePath: string
}

/** The facts about a tracker request that its receiver knows better than the request itself. */
export interface TrackTarget {
  /** Path and query, without the base path. */
  target: string
  /** `Host` or `:authority`. */
  host: string
  /** The client's address. */
  ip: string
  /** Scheme and target as the client sent them, where a proxy or a base path changed them. */
  asked?: { scheme: 'http' | 'https'; target: string }
  /** The body, where a body parser has consumed it already. */
  body?: Uint8Array | undefined
}
