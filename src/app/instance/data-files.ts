import { readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.js'

/** Bytes of a file, or of all files below a directory; 0 if it has gone meanwhile. */
async function measure(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  if (!found?.isDirectory()) return found?.isFile() ? found.size : 0
  const names = await readdir(path).catch(() => [])
  const sizes = await Promise.all(names.map((name) => measure(join(path, name))))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Reads the free space of the disk; below `limit` rows are not stored. */
export const readDisk = async ({
  data,
  min_free_disk: limit,
}: Pick<Config, 'data'> & Partial<Pick<Config, 'min_free_disk'>>) => ({
  free: await readFreeBytes(data),
  limit,
})

async function readFreeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize
}

/** Measures the files of the data directory, each directory as one, the largest first, and the free space of its disk. */
export async function measureDataFiles(directory: string) {
  const names = await readdir(directory)
  const files = await Promise.all(names.map(async (name) => ({ name, bytes: await measure(join(directory, name)) })))
  return {
    directory,
    files: files.filter(({ bytes }) => bytes > 0).sort((a, b) => b.bytes - a.bytes),
    free_bytes: await readFreeBytes(directory),
  }
}
