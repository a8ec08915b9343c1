import { createHash } from 'node:crypto'
import { copyFile, link, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Archive,
  findDamaged,
  formatBackupName,
  formatSum,
  listBackups,
  openArchive,
  readFile,
} from './archive.js'
import { MANIFEST, MANIFEST_SUM, type Manifest, type Member, type TakenBackup } from './manifest.js'
import { formatTarHeader, TAR_END, tarPadding } from './tar.js'

/** The files of a backup that was taken, and the directory in which they wait. */
export interface TakenFiles {
  readonly taken: TakenBackup
  readonly directory: string
}

type OnBytes = (bytes: number) => void

/** Returns the bytes of the files that wait. */
export async function countBytes({ taken, directory }: TakenFiles): Promise<number> {
  let bytes = 0
  for (const { name, isNew } of taken.parts) if (isNew) bytes += (await stat(join(directory, name))).size
  return bytes
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

/**
 * Writes a backup as a directory of its own in `target`, and returns its path. Parts that `base` has are hard links to its
 * files, or copies where the file system has no links.
 */
export async function writeDirectory(
  { taken, directory }: TakenFiles,
  { target, base, onBytes }: { target: string; base: Pick<Archive, 'path' | 'manifest'> | undefined; onBytes: OnBytes },
): Promise<string> {
  const path = join(target, formatBackupName(taken.taken_at))
  const part = `${path}.part`
  for (const folder of ['events', 'control']) await mkdir(join(part, folder), { recursive: true, mode: 0o700 })
  const known = new Map(base?.manifest.members.map((member) => [member.name, member]))
  const members: Member[] = []
  for (const { isNew, ...one } of taken.parts) {
    const to = join(part, one.name)
    const member = known.get(one.name)
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
  await rename(part, path)
  return path
}

/** Opens the newest whole backup in a directory, with those of its members that are not damaged; undefined without one. */
export async function openVerifiedParts(target: string): Promise<Archive | undefined> {
  for (const path of (await listBackups(target)).toReversed()) {
    const archive = await openArchive(path).catch(() => undefined)
    if (!archive) continue
    const damaged = await findDamaged(archive)
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
