import { createHash } from 'node:crypto'
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { MANIFEST, MANIFEST_SUM, Manifest, type Member } from './manifest.js'
import { listTar } from './tar.js'

/** Small enough that the event loop of a site's process does other work between two of them. */
const CHUNK_BYTES = 256 << 10
/** The manifest of ten years has 10 MB. */
const MAX_MANIFEST_BYTES = 32 << 20
const MAX_SUM_BYTES = 1_000

/** A backup: a tar file, or a directory of the same files. */
export interface Archive {
  readonly path: string
  readonly manifest: Manifest
  /** Yields the bytes of a member. */
  read(name: string): AsyncIterable<Uint8Array>
  close(): Promise<void>
}

/** Opens a backup and checks its manifest. Throws an error of one line. */
export async function openArchive(path: string): Promise<Archive> {
  const stats = await stat(path)
  // A pipe would be waited for, and a device has no end.
  if (!stats.isDirectory() && !stats.isFile())
    throw new Error(`${path} is not a whole backup: it is neither a file nor a directory.`)
  const files = stats.isDirectory() ? openDirectory(path) : await openTar(path)
  try {
    const text = await readText(files.read(MANIFEST), MANIFEST, MAX_MANIFEST_BYTES)
    const sum = await readText(files.read(MANIFEST_SUM), MANIFEST_SUM, MAX_SUM_BYTES)
    if (sum !== formatSum(text)) throw new Error(`${MANIFEST} is damaged.`)
    return { path, ...files, manifest: parseManifest(text) }
  } catch (cause) {
    await files.close()
    const newest = (await listBackups(path).catch(() => [])).at(-1)
    if (newest !== undefined)
      throw new Error(`${path} is a directory of backups; the newest is ${newest}: readership restore ${newest}`, {
        cause,
      })
    throw new Error(`${path} is not a whole backup: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    })
  }
}

/** Throws an error of one line that names the first fault. */
function parseManifest(text: string): Manifest {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    throw new Error(`${MANIFEST} is not JSON.`)
  }
  const { data, error } = Manifest.safeParse(read)
  if (!data) {
    const [issue] = error.issues
    throw new Error(`${MANIFEST} is not one that readership wrote: ${issue?.path.join('.')}: ${issue?.message}.`)
  }
  const names = new Set<string>()
  const twice = data.members.find(({ name }) => names.size === names.add(name).size)?.name
  if (twice !== undefined) throw new Error(`${MANIFEST} is not one that readership wrote: ${twice} is in it twice.`)
  return data
}

/** Formats the line that stands in `MANIFEST_SUM`. */
export const formatSum = (manifest: string): string =>
  `${createHash('sha256').update(manifest).digest('hex')}  ${MANIFEST}\n`

/** Yields the bytes of a member, and throws after the last one if they are not those that were written. */
export async function* readMember({ path, read }: Pick<Archive, 'path' | 'read'>, member: Member) {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of read(member.name)) {
    hash.update(chunk)
    bytes += chunk.length
    if (bytes > member.bytes) break
    yield chunk
  }
  if (bytes !== member.bytes || hash.digest('hex') !== member.sha256)
    throw new Error(`${path}: ${member.name} is damaged: its checksum differs from the one in the manifest.`)
}

/** Returns the members whose bytes are not those that were written. */
export async function findDamaged(archive: Archive, onBytes?: (bytes: number) => void): Promise<Member[]> {
  const damaged: Member[] = []
  for (const member of archive.manifest.members)
    try {
      for await (const chunk of readMember(archive, member)) onBytes?.(chunk.length)
    } catch {
      damaged.push(member)
    }
  return damaged
}

const BACKUP_NAME = /^readership-\d{4}-\d{2}-\d{2}T[\d-]+Z$/
/** The end of the name of a directory that is being written or deleted. */
export const UNFINISHED = '.part'

/** Returns the name of a backup's directory, so that names are in the order of time. */
export const formatBackupName = (taken_at: string): string => `readership-${taken_at.replace(/:|\./g, '-')}`

/** Lists the backups in a directory, oldest first, or with `ending` those that are not finished. */
export async function listBackups(directory: string, ending: '' | typeof UNFINISHED = ''): Promise<string[]> {
  const names = await readdir(directory)
  return names
    .filter((name) => name.endsWith(ending) && BACKUP_NAME.test(name.slice(0, name.length - ending.length)))
    .sort()
    .map((name) => join(directory, name))
}

/**
 * Lists the backups in a directory, newest first, without those of readerships whose records were created at another moment
 * than `recordsBorn`.
 */
export async function listOwnBackups(directory: string, recordsBorn: string | undefined): Promise<string[]> {
  const members: string[] = []
  for (const path of (await listBackups(directory)).toReversed()) {
    const archive = await openArchive(path).catch(() => undefined)
    await archive?.close()
    const { records_born = recordsBorn } = archive?.manifest ?? {}
    if (recordsBorn === undefined || records_born === recordsBorn) members.push(path)
  }
  return members
}

type Files = Pick<Archive, 'read' | 'close'>

function openDirectory(path: string): Files {
  return {
    async *read(name) {
      const file = join(path, name)
      if (!(await stat(file)).isFile()) throw new Error(`${name} is not a plain file.`)
      yield* readFile(file)
    },
    async close() {},
  }
}

async function openTar(path: string): Promise<Files> {
  const file = await open(path)
  try {
    const entries = new Map((await listTar(file)).map((entry) => [entry.name, entry]))
    const folder = findFolder([...entries.keys()])
    return {
      async *read(name) {
        const entry = entries.get(folder + name)
        if (!entry) throw new Error(`${name} is missing.`)
        if (!entry.isPlain) throw new Error(`${name} is not a plain file.`)
        yield* readRange(file, entry.start, entry.size)
      },
      close: () => file.close(),
    }
  } catch (cause) {
    await file.close()
    throw new Error(`${path} is not a whole backup: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    })
  }
}

/** Returns the folder of the manifest, where a directory was packed by its name: empty, or with a slash at its end. */
function findFolder(names: readonly string[]): string {
  const isManifest = (name: string) => name === MANIFEST || name.endsWith(`/${MANIFEST}`)
  const [found = MANIFEST] = names.filter(isManifest).sort((a, b) => a.length - b.length)
  return found.slice(0, -MANIFEST.length)
}

/** Yields the bytes of a file. */
export async function* readFile(path: string): AsyncGenerator<Uint8Array> {
  const file = await open(path)
  try {
    yield* readRange(file, 0, (await file.stat()).size)
  } finally {
    await file.close()
  }
}

async function* readRange(file: FileHandle, start: number, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; ) {
    const length = Math.min(CHUNK_BYTES, size - at)
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, start + at)
    if (bytesRead === 0) throw new Error('the file is cut off.')
    yield buffer.subarray(0, bytesRead)
    at += bytesRead
  }
}

async function readText(chunks: AsyncIterable<Uint8Array>, name: string, max: number): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > max) throw new Error(`${name} has more than ${max} bytes, which no backup has.`)
    parts.push(chunk)
  }
  return Buffer.concat(parts).toString()
}
