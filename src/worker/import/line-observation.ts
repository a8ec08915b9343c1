import type { Observation } from '../../capture/observation.js'
import type { ImportedLine } from '../../worker-client/log-batch.js'

/** Returns the exchange of a line as if it had been observed. `host` is that of lines without one. */
export function toObservation(line: ImportedLine, about: { host: string; import: number; key: bigint }): Observation {
  const { target, status, type, referrer, headers } = line
  const mark = target.indexOf('?')
  const pathname = mark < 0 ? target : target.slice(0, mark)
  const observation: Observation = {
    // Not read: the line's time is known as a number.
    timestamp: '',
    user_agent: line.user_agent,
    method: line.method,
    hostname: line.host || about.host,
    pathname,
    status,
    bytes: line.bytes ?? 0,
    duration_ms: line.duration_ms ?? 0,
    content_type: type,
    conditional: status === 304 ? 1 : 0,
    ip: line.address,
    imported: {
      import: about.import,
      key: about.key,
      isPage: line.page,
      lacksDuration: line.duration_ms === null,
    },
  }
  if (mark >= 0) observation.query = target.slice(mark + 1)
  if (referrer !== '') observation.referrer = referrer
  if (headers !== null) observation.headers = headers
  return observation
}
