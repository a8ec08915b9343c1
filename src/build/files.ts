import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'

/** Lists the files of a folder and its folders, by their paths from the checkout. */
export const listFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile())
    .sort()

/** Returns a digest of files, which a folder that is made from them keeps. */
function hashFiles(files: readonly string[]): string {
  const hash = createHash('sha256')
  for (const file of files) hash.update(file).update(readFileSync(file))
  return hash.digest('hex')
}

/** Runs `make` and writes the digest of the sources beside its files, unless that digest is written already. */
export async function whenChanged(stampFile: string, sources: readonly string[], make: () => Promise<void>) {
  const stamp = hashFiles(sources)
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return
  await make()
  writeFileSync(stampFile, stamp)
}

/** Writes a copy of a text in Brotli, `.br`: the package has the copies alone. */
export function compress(file: string): void {
  const quality = { [constants.BROTLI_PARAM_QUALITY]: 11 }
  writeFileSync(`${file}.br`, brotliCompressSync(readFileSync(file), { params: quality }))
}
