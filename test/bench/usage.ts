import { readdirSync, readFileSync } from 'node:fs'

/** CPU microseconds of one thread so far, as the scheduler counts them. */
const threadCpu = (pid: number, thread: number | string): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1_000
  } catch {
    return 0
  }
}

const threadsCpu = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + threadCpu(pid, thread), 0)

/** CPU microseconds so far of a process with its children, of the process alone, and of its first thread. */
export function preciseCpu(pid: number): { cpu: number; alone: number; thread: number } {
  const alone = threadsCpu(pid)
  const cpu = childrenOf(pid).reduce((sum, child) => sum + threadsCpu(child), alone)
  return { cpu, alone, thread: threadCpu(pid, pid) }
}

/** CPU microseconds so far of the whole machine, in the kernel's ticks of 10 ms. */
export function machineCpu(): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] =
    readFileSync('/proc/stat', 'utf8').split('\n')[0]?.split(/\s+/).slice(1).map(Number) ?? []
  return (user + nice + system + irq + softirq) * 10_000
}

/** CPU microseconds so far, in the kernel's ticks of 10 ms, and resident bytes of a process; nothing of one that ended. */
export function usageOf(pid: number): { cpu: number; rss: number } {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return { cpu: (Number(fields[11]) + Number(fields[12])) * 10_000, rss: Number(fields[21]) * 4_096 }
  } catch {
    return { cpu: 0, rss: 0 }
  }
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

/** Memory of this process and the worker. Pages that they share count for each. */
export function usageOfAll(pid = process.pid): { cpu: number; rss: number } {
  const all = [pid, ...childrenOf(pid)].map(usageOf)
  return { cpu: all.reduce((sum, one) => sum + one.cpu, 0), rss: all.reduce((sum, one) => sum + one.rss, 0) }
}

/**
 * CPU microseconds, switches of threads, bytes written to disk and resident bytes of a process and its children so far.
 * Threads that have ended are left out.
 */
export function activityOfAll(pid: number): { cpu: number; switches: number; written: number; rss: number } {
  const sum = { cpu: 0, switches: 0, written: 0, rss: 0 }
  for (const one of [pid, ...childrenOf(pid)]) {
    sum.rss += usageOf(one).rss
    sum.written += Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${one}/io`, 'utf8'))?.[1])
    for (const task of readdirSync(`/proc/${one}/task`)) {
      const of = (name: string) => readFileSync(`/proc/${one}/task/${task}/${name}`, 'utf8')
      sum.cpu += Number(of('schedstat').split(' ')[0]) / 1e3
      for (const [, count] of of('status').matchAll(/ctxt_switches:\s+(\d+)/g)) sum.switches += Number(count)
    }
  }
  return sum
}

/** Resident bytes of the same processes, the pages that they share (the same Node, above all) shared out among them. */
export const sharedOutOfAll = (pid = process.pid): number =>
  [pid, ...childrenOf(pid)].reduce((sum, one) => sum + sharedOutOf(one), 0)

function sharedOutOf(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) * 1_024
  } catch {
    return 0
  }
}
