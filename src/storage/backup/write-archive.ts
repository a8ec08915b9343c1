import { createHash } from 'node:crypto'
import { copyFile, link, mkdir, open, rename, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { formatBytes } from '../../base/format-bytes.js'
import {
  type Archive,
  findDamaged,
  formatBackupName,
  formatSum,
  listOwnBackups,
  openArchive,
  readFile,
  UNFINISHED,
} from './archive.js'
import { MANIFEST, MANIFEST_SUM, type Manifest, type Member, type TakenBackup } from './manifest.js'
import { formatTarHeader, TAR_END, tarPadding } from './tar.js'

/** The files of a backup that was taken, and the directory in which they wait. */
export interface TakenFiles {
  readonly taken: TakenBackup
  readonly directory: string
}

type OnBytes = (bytes: number) => void

const measureFiles = ({ taken, directory }: TakenFiles): Promise<number[]> =>
  Promise.all(
    taken.parts.flatMap(({ name, isNew }) => (isNew ? stat(join(directory, name)).then(({ size }) => size) : [])),
  )

/** Returns the bytes of the files that wait. */
export const countBytes = async (files: TakenFiles): Promise<number> =>
  (await measureFiles(files)).reduce((sum, size) => sum + size, 0)

/** A disk has too little room. */
export class FullDisk extends Error {}

/** Throws an error of one line unless the files that wait have room in `target`, and the store's disk has that much left. */
export async function requireDisk(files: TakenFiles, target: string, min_free_disk = 0): Promise<void> {
  const [{ bavail, bsize }, { dev }] = await Promise.all([statfs(target), stat(target)]).catch(() => {
    throw new Error(`${target} is not a directory.`)
  })
  const sizes = await measureFiles(files)
  const isDiskOfStore = dev === (await stat(files.directory)).dev
  // A file is deleted where it waited as soon as it was copied.
  const needed = isDiskOfStore ? Math.max(0, ...sizes) + min_free_disk : sizes.reduce((sum, size) => sum + size, 0)
  if (bavail * bsize < needed)
    throw new FullDisk(
      `${target} has ${formatBytes(bavail * bsize)} free, and the backup needs ${formatBytes(needed)}${isDiskOfStore && min_free_disk > 0 ? ' with --min-free-disk' : ''}.`,
    )
}

/** Yields a backup as a tar file, whose last members are the manifest and its checksum. Deletes the files that it has read. */
export async function* formatTar({ taken, directory }: TakenFiles, onBytes: OnBytes): AsyncGenerator<Uint8Array> {
  const modified = new Date(taken.taken_at)
  const members: Member[] = []
  for (const { isNew, ...part } of taken.parts) {
    const file = join(directory, part.name)
    const { size: bytes } = await stat(file)
    const hash = createHash('sha256')
    yield formatTarHeader(part.name, bytes, modified)
    for await (const chunk of readFile(file)) {
      hash.update(chunk)
      onBytes(chunk.length)
      yield chunk
    }
    yield tarPadding(bytes)
    members.push({ ...part, bytes, sha256: hash.digest('hex') })
    await rm(file)
  }
  for (const [name, text] of formatManifest(taken, members)) {
    const bytes = Buffer.from(text)
    yield* [formatTarHeader(name, bytes.length, modified), bytes, tarPadding(bytes.length)]
  }
  yield TAR_END
}

/** The backup to whose files an incremental one links. */
type Base = Pick<Archive, 'path' | 'manifest'>

/**
 * Writes a backup as a directory of its own in `target`, and returns its path and the size of its files. Parts that `base` has are hard links to its
 * files, or copies where the file system has no links.
 */
export async function writeDirectory(
  { taken, directory }: TakenFiles,
  { target, base, onBytes }: { target: string; base: Base | undefined; onBytes: OnBytes },
): Promise<{ path: string; bytes: number }> {
  const path = join(target, formatBackupName(taken.taken_at))
  const part = `${path}${UNFINISHED}`
  try {
    const members = await fillDirectory(part, { taken, directory }, base, onBytes)
    await rename(part, path)
    return { path, bytes: members.reduce((sum, { bytes }) => sum + bytes, 0) }
  } catch (error) {
    await rm(part, { recursive: true, force: true })
    throw error
  }
}

async function fillDirectory(
  part: string,
  { taken, directory }: TakenFiles,
  base: Base | undefined,
  onBytes: OnBytes,
): Promise<Member[]> {
  for (const folder of ['events', 'control']) await mkdir(join(part, folder), { recursive: true, mode: 0o700 })
  const baseMembers = new Map(base?.manifest.members.map((member) => [member.name, member]))
  const members: Member[] = []
  for (const { isNew, ...one } of taken.parts) {
    const to = join(part, one.name)
    const member = baseMembers.get(one.name)
    if (!isNew && base && member) {
      const from = join(base.path, one.name)
      await link(from, to).catch(() => copyFile(from, to))
      members.push({ ...one, bytes: member.bytes, sha256: member.sha256 })
    } else {
      const from = join(directory, one.name)
      members.push({ ...one, ...(await writeFile(to, readFile(from), onBytes)) })
      await rm(from)
    }
  }
  for (const [name, text] of formatManifest(taken, members)) await writeFile(join(part, name), [Buffer.from(text)])
  return members
}

/** Opens the newest whole backup in `listOwnBackups`, with those of its members that are not damaged; undefined without one. */
export async function openVerifiedParts(
  target: string,
  recordsBorn?: string,
  onBytes?: OnBytes,
): Promise<Archive | undefined> {
  for (const path of await listOwnBackups(target, recordsBorn)) {
    const archive = await openArchive(path).catch(() => undefined)
    if (!archive) continue
    const damaged = await findDamaged(archive, onBytes)
    const members = archive.manifest.members.filter((member) => !damaged.includes(member))
    return { ...archive, manifest: { ...archive.manifest, members } }
  }
  return undefined
}

function formatManifest({ parts: _, ...facts }: TakenBackup, members: Member[]): [name: string, text: string][] {
  const manifest: Manifest = { format: 1, ...facts, members }
  const text = `${JSON.stringify(manifest, null, 1)}\n`
  return [
    [MANIFEST, text],
    [MANIFEST_SUM, formatSum(text)],
  ]
}

/** Writes a new file through to the disk. */
async function writeFile(
  path: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  onBytes?: OnBytes,
): Promise<Pick<Member, 'bytes' | 'sha256'>> {
  const hash = createHash('sha256')
  const file = await open(path, 'w', 0o600)
  let bytes = 0
  try {
    for await (const chunk of chunks) {
      hash.update(chunk)
      await file.writeFile(chunk)
      bytes += chunk.length
      onBytes?.(chunk.length)
    }
    await file.sync()
  } finally {
    await file.close()
  }
  return { bytes, sha256: hash.digest('hex') }
}
