import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'

/** The store's share where nothing is set: half of what the process may use. */
const SHARE = 0.5
/** Where the machine has no limit for it, the store is one of many. */
const MOST_OF_A_MACHINE = 2_000_000_000
/** Less is not enough to answer anything large. */
const LEAST = 128_000_000

/** `text` gives a file, undefined where there is none; `total` is the machine's memory in bytes. */
export interface Machine {
  text(path: string): string | undefined
  total: number
}

export const thisMachine = (): Machine => ({
  total: totalmem(),
  text(path) {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return undefined
    }
  },
})

/**
 * Memory of the store where `--memory-limit` does not say, as DuckDB writes sizes: half of what the control group
 * allows, or of any group around it; without one half of the machine's, at most 2 GB. Never less than 128 MB.
 */
export function memoryLimit(machine: Machine): string {
  const allowed = groupLimit(machine)
  const bytes = allowed === undefined ? Math.min(machine.total * SHARE, MOST_OF_A_MACHINE) : allowed * SHARE
  return `${Math.floor(Math.max(LEAST, bytes) / 1_000_000)}MB`
}

/** The least limit of the groups this process is in, below the machine's memory; undefined without. */
function groupLimit({ text, total }: Machine): number | undefined {
  const limits = groups(text('/proc/self/cgroup') ?? '')
    .map((file) => (text(file) ?? '').trim())
    // Version 2 says `max` for none, version 1 a number beyond all memory.
    .filter((limit) => /^\d+$/.test(limit))
    .map(Number)
    .filter((limit) => limit > 0 && limit < total)
  return limits.length === 0 ? undefined : Math.min(...limits)
}

/**
 * Files with a limit, by `/proc/self/cgroup` (lines `id:controllers:path`, for version 2 without an id and controllers):
 * the group's and those of every group around it. Inside a container the path may be the host's: the root's is the own.
 */
function groups(lines: string): string[] {
  return lines.split('\n').flatMap((line) => {
    const [, controllers = '', path] = /^\d+:([^:]*):(\/.*)$/.exec(line.trim()) ?? []
    if (path === undefined) return []
    if (controllers === '') return around(path).map((group) => `/sys/fs/cgroup${group}/memory.max`)
    if (!controllers.split(',').includes('memory')) return []
    return around(path).map((group) => `/sys/fs/cgroup/memory${group}/memory.limit_in_bytes`)
  })
}

/** `/a/b` to `/a/b`, `/a` and the root, which is empty. */
const around = (path: string): string[] => {
  const words = path.split('/').filter((word) => word !== '')
  return words.map((_, n) => `/${words.slice(0, words.length - n).join('/')}`).concat('')
}
