import fs = require('node:fs')
import os = require('node:os')

/*
 * Runs in the worker's process before any other module. Statements run on the threads of libuv and on those of DuckDB, and
 * both must stand behind the threads that serve the site; `storage/duckdb/open.ts` does the same for DuckDB's. Only Linux has
 * priorities of threads.
 *
 * libuv starts all of its threads at its first task, and no name tells them from others: they are those that are there
 * after such a task and were not before it. An ES module is loaded by such tasks, so this file is not one.
 */

/** Such a thread gets a tenth of a busy processor, and all of an idle one. */
const LOW_PRIORITY = 10

const listThreads = () => fs.readdirSync('/proc/self/task').map(Number)

try {
  const before = new Set(listThreads())
  fs.stat('/', () => {})
  for (const thread of listThreads()) if (!before.has(thread)) os.setPriority(thread, LOW_PRIORITY)
} catch {
  // Another system, or a sandbox does not allow it.
}
