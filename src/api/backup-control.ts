import { setTimeout as delay } from 'node:timers/promises'
import type { Backups } from '../storage/backup/backups.js'
import { type BackupLine, KnownParts } from '../storage/backup/manifest.js'
import { parseBody, type Route, routeMaker } from './route.js'

const LINES = 'application/x-ndjson'
/** A client that has left is noticed at the next line. */
const EMPTY_LINE_INTERVAL_MS = 1_000

/** `POST /control/backup`, for the operator: takes a backup, whose files are there until the client closes the response. */
export function backupControlRoute(backups: Backups): Route {
  return routeMaker('control')('post', '/control/backup', 'operator', {
    summary: 'Take a backup, and keep its files until the client closes the response',
    body: KnownParts,
    contentType: LINES,
    mayConflict: true,
    // The parts of an earlier backup: 70 bytes each.
    readsOwnBody: true,
    run: async (call) => streamWhileFilesAreThere(backups.take(await parseBody(call, KnownParts))),
  })
}

/** Streams lines, and goes on with empty ones after the last, until the client leaves. */
export async function streamWhileFilesAreThere(lines: AsyncGenerator<BackupLine>): Promise<Response> {
  // An error at the beginning has a status of its own.
  let line = await lines.next()
  const encoder = new TextEncoder()
  const encode = async function* () {
    try {
      while (!line.done) {
        yield encoder.encode(`${JSON.stringify(line.value)}\n`)
        if (!('done' in line.value)) break
        line = await lines.next()
      }
      while (!line.done) {
        await delay(EMPTY_LINE_INTERVAL_MS)
        yield encoder.encode('\n')
      }
    } finally {
      await lines.return(undefined)
    }
  }
  return new Response(ReadableStream.from(encode()), { headers: { 'content-type': LINES } })
}
