import { readFileSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'

/** `text` gives a file, undefined where there is none; `total` is the machine's memory in bytes. */
export interface Machine {
  readText(path: string): string | undefined
  total_bytes: number
  cores: number
}

export const inspectMachine = (): Machine => ({
  total_bytes: totalmem(),
  cores: availableParallelism(),
  readText(path) {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return undefined
    }
  },
})

/** A limit's file in a control group of version 2, and the controller and file that it was in version 1. */
export interface CgroupFile {
  v2: string
  v1?: { controller: string; file: string }
}

/** What that file says in each of the groups this process is in, and in those around them. */
export const readCgroupLimits = ({ readText: text }: Machine, limit: CgroupFile): string[] =>
  listLimitFiles(text('/proc/self/cgroup') ?? '', limit).flatMap((file) => text(file)?.trim() ?? [])

/**
 * Files with a limit, by `/proc/self/cgroup` (lines `id:controllers:path`, for version 2 without an id and controllers):
 * the group's and those of every group around it. Inside a container the path may be the host's: the root's is the own.
 */
function listLimitFiles(lines: string, { v2, v1 }: CgroupFile): string[] {
  return lines.split('\n').flatMap((line) => {
    const [, controllers = '', path] = /^\d+:([^:]*):(\/.*)$/.exec(line.trim()) ?? []
    if (path === undefined) return []
    if (controllers === '') return listAncestors(path).map((group) => `/sys/fs/cgroup${group}/${v2}`)
    if (v1 === undefined || !controllers.split(',').includes(v1.controller)) return []
    return listAncestors(path).map((group) => `/sys/fs/cgroup/${v1.controller}${group}/${v1.file}`)
  })
}

/** `/a/b` to `/a/b`, `/a` and the root, which is empty. */
const listAncestors = (path: string): string[] => {
  const words = path.split('/').filter((word) => word !== '')
  return words.map((_, n) => `/${words.slice(0, words.length - n).join('/')}`).concat('')
}
