import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** The demo's rows must not mix with those of the operator's own site, which go to `./readership-data`. */
export const DEMO_DATA = './readership-demo'

/** A file in the directory while a process, whose number it has, writes the history. */
export const UNFINISHED = 'history-is-being-written'

/** The history takes less than a minute of one core. */
const MAX_WRITING_MS = 600_000

/**
 * Returns what to call when the demo's history is written; undefined if the directory was chosen by the operator, or has its
 * history already. A directory whose history was cut short, by Ctrl-C or a crash, is emptied first.
 */
export function beginHistory(data: string, say: (text: string) => void): (() => void) | undefined {
  if (resolve(data) !== resolve(DEMO_DATA)) return undefined
  const marker = join(data, UNFINISHED)
  if (existsSync(marker)) {
    const pid = Number(readFileSync(marker, 'utf8'))
    // After a while the number may be that of any other process.
    const isFresh = Date.now() - statSync(marker).mtimeMs < MAX_WRITING_MS
    if (isFresh && pid > 0 && pid !== process.pid && isRunning(pid))
      throw new Error(`Another npm start (process ${pid}) is writing the demo's history into ${data}.`)
    say(`The history in ${data} was cut short by the end of the last demo: the demo writes it again.`)
    rmSync(data, { recursive: true })
  }
  if (existsSync(data) && readdirSync(data).length > 0) return undefined
  mkdirSync(data, { recursive: true })
  try {
    // Fails if another demo, started at the same time, created the file.
    writeFileSync(marker, `${process.pid}`, { flag: 'wx' })
  } catch (error) {
    if (!existsSync(marker)) throw error
    throw new Error(`Another npm start is writing the demo's history into ${data}.`)
  }
  return () => rmSync(marker)
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
