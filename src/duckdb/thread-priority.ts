import { readdirSync } from 'node:fs'
import { setPriority } from 'node:os'

/** A tenth of the processor where the site wants all of it, and what nobody else wants otherwise. */
const NICE = 10
/** More share what they work on between them rather than be faster, and each takes memory. */
const MAX_READ_THREADS = 4
const TASK_DIRECTORY = '/proc/self/task'

/**
 * Runs `open`, and lets the threads that it starts stand back behind all others: they help a read on cores that are
 * free, and take none from the site. Linux alone knows a thread's priority; elsewhere they are as any other.
 */
export async function withLowPriorityThreads<T>(open: () => Promise<T>): Promise<T> {
  const before = new Set(listThreads())
  const opened = await open()
  for (const task of listThreads()) {
    if (before.has(task)) continue
    try {
      setPriority(Number(task), NICE)
    } catch {
      // It has ended meanwhile, or a sandbox does not allow it.
    }
  }
  return opened
}

/** How many threads a read may use: one core is left to the site where they cannot stand back. */
export const threadsFor = (cores: number): number =>
  Math.max(1, Math.min(MAX_READ_THREADS, listThreads().length > 0 ? cores : cores - 1))

function listThreads(): string[] {
  try {
    return readdirSync(TASK_DIRECTORY)
  } catch {
    return []
  }
}
