import { fstatSync, readdirSync, statSync } from 'node:fs'

/**
 * Whether this process has `file` open, through whatever thread or library: an instance of ours that did not close.
 * Another process's lock DuckDB finds by itself.
 *
 * DuckDB's lock is a POSIX lock, which belongs to the process: a second instance in the same process is not refused and
 * loses data silently (duckdb issues 17343, 24739). It asks descriptors, because opening the file to ask would drop the
 * lock. Where there is no /dev/fd (Windows) the system itself refuses the second open.
 */
export function isOpenHere(file: string): boolean {
  const target = statSync(file, { bigint: true, throwIfNoEntry: false })
  if (!target) return false
  return descriptors().some((fd) => {
    try {
      const open = fstatSync(fd, { bigint: true })
      return open.ino === target.ino && open.dev === target.dev
    } catch {
      return false
    }
  })
}

function descriptors(): number[] {
  try {
    return readdirSync('/dev/fd').map(Number)
  } catch {
    return []
  }
}
