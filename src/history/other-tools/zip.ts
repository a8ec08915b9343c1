import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { UnusableSetting } from '../../base/errors.js'
import { createDecoder } from '../access-logs/decompress.js'

/**
 * Reads parts of a file. At once, because a command has nothing else to do: of thousands of small entries most of the time
 * would be waiting for threads.
 */
export interface FileParts {
  readonly size: number
  read(at: number, bytes: number): Buffer
  close(): void
}

export interface ZipEntry {
  readonly name: string
  /** The bytes of the file, unpacked. Throws `UnusableSetting` if they are damaged. */
  bytes(): AsyncGenerator<Buffer>
}

/** The place of an entry and its sizes, as the list of entries has them. */
interface Place {
  readonly name: string
  readonly flags: number
  readonly method: number
  readonly checksum: number
  /** Bytes in the archive, and unpacked. */
  readonly packed: number
  readonly unpacked: number
  readonly header: number
}

const PIECE_BYTES = 262_144
/** The end of the list without its comment, and the longest comment (APPNOTE.TXT 4.3.16). */
const END_BYTES = 22
const MAX_COMMENT_BYTES = 65_535
const MAX_LIST_BYTES = 256 << 20
const STORED = 0
const DEFLATED = 8

export function openParts(path: string): FileParts {
  const file = openSync(path, 'r')
  const { size } = fstatSync(file)
  return {
    size,
    read(at, bytes) {
      const buffer = Buffer.alloc(Math.max(0, Math.min(bytes, size - at)))
      return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, at))
    },
    close: () => closeSync(file),
  }
}

/**
 * Reads the list of a ZIP's entries once; each entry is read and unpacked from its place. Throws `UnusableSetting` if the
 * archive is damaged.
 */
export function readZip(path: string, openFile = openParts): ZipEntry[] {
  const archive = openFile(path)
  try {
    return readList(path, archive).map((place) => ({
      name: place.name,
      async *bytes() {
        const parts = openFile(path)
        try {
          yield* unpack(`${path}: ${place.name}`, parts, place)
        } finally {
          parts.close()
        }
      },
    }))
  } finally {
    archive.close()
  }
}

const damaged = (what: string, why: string) => new UnusableSetting(`${what} is damaged: ${why}.`)

function readList(path: string, parts: FileParts): Place[] {
  const { start, bytes } = findList(path, parts)
  if (bytes > MAX_LIST_BYTES) throw damaged(path, `the list of its files has ${bytes} bytes`)
  const list = parts.read(start, bytes)
  const places: Place[] = []
  for (let at = 0; at < bytes; ) {
    if (list.length < at + 46 || list.readUInt32LE(at) !== 0x02014b50)
      throw damaged(path, `the list of its files has no entry at byte ${start + at}`)
    const [name, extra, comment] = [list.readUInt16LE(at + 28), list.readUInt16LE(at + 30), list.readUInt16LE(at + 32)]
    const flags = list.readUInt16LE(at + 8)
    const text = list.subarray(at + 46, at + 46 + name)
    places.push({
      name: text.toString((flags & 0x800) === 0 ? 'latin1' : 'utf8'),
      flags,
      method: list.readUInt16LE(at + 10),
      checksum: list.readUInt32LE(at + 16),
      ...readSizes(list, at, list.subarray(at + 46 + name, at + 46 + name + extra)),
    })
    at += 46 + name + extra + comment
  }
  return places
}

/** Reads the sizes of an entry and where it is; those over 4 GB are in the extra field 1, in this order (4.5.3). */
function readSizes(list: Buffer, at: number, extra: Buffer): Pick<Place, 'packed' | 'unpacked' | 'header'> {
  let large: Buffer = Buffer.alloc(0)
  for (let field = 0; field + 4 <= extra.length; field += 4 + extra.readUInt16LE(field + 2))
    if (extra.readUInt16LE(field) === 1) large = extra.subarray(field + 4, field + 4 + extra.readUInt16LE(field + 2))
  const take = (place: number): number => {
    const short = list.readUInt32LE(at + place)
    if (short !== 0xffffffff || large.length < 8) return short
    const value = Number(large.readBigUInt64LE())
    large = large.subarray(8)
    return value
  }
  const unpacked = take(24)
  const packed = take(20)
  return { unpacked, packed, header: take(42) }
}

/** Finds the list of entries by the record that ends the archive. */
function findList(path: string, parts: FileParts): { start: number; bytes: number } {
  const from = Math.max(0, parts.size - END_BYTES - MAX_COMMENT_BYTES)
  const tail = parts.read(from, parts.size - from)
  const end = tail.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'), tail.length - END_BYTES)
  if (end < 0 || tail.length < END_BYTES)
    throw damaged(path, `it is cut short at byte ${parts.size}, before the list of its files`)
  const found = { start: tail.readUInt32LE(end + 16), bytes: tail.readUInt32LE(end + 12) }
  if (found.start !== 0xffffffff && found.bytes !== 0xffffffff) return found
  const locator = parts.read(from + end - 20, 20)
  if (locator.length < 20 || locator.readUInt32LE() !== 0x07064b50) return found
  const record = parts.read(Number(locator.readBigUInt64LE(8)), 56)
  if (record.length < 56 || record.readUInt32LE() !== 0x06064b50)
    throw damaged(path, 'the end of the list of its files is missing')
  return { start: Number(record.readBigUInt64LE(48)), bytes: Number(record.readBigUInt64LE(40)) }
}

async function* unpack(what: string, parts: FileParts, place: Place): AsyncGenerator<Buffer> {
  const { method, packed, flags } = place
  if ((flags & 1) !== 0) throw new UnusableSetting(`${what} is encrypted: unpack it, and add the file itself.`)
  if (method !== STORED && method !== DEFLATED)
    throw new UnusableSetting(`${what} is compressed by method ${method}: unpack it, and add the file itself.`)
  const header = parts.read(place.header, 30)
  if (header.length < 30 || header.readUInt32LE() !== 0x04034b50)
    throw damaged(what, `it does not begin at byte ${place.header}`)
  const start = place.header + 30 + header.readUInt16LE(26) + header.readUInt16LE(28)
  const pieces = readPieces(what, parts, start, packed)
  if (method === STORED) yield* pieces
  else yield* inflate(what, pieces, { ...place, start })
}

function* readPieces(what: string, parts: FileParts, start: number, bytes: number): Generator<Buffer> {
  for (let at = start; at < start + bytes; ) {
    const piece = parts.read(at, Math.min(PIECE_BYTES, start + bytes - at))
    if (piece.length === 0) throw damaged(what, `the archive is cut short at byte ${at}`)
    yield piece
    at += piece.length
  }
}

/** Inflates as gzip, with its header and trailer (RFC 1952), so that the checksum and the size are verified. */
async function* inflate(
  what: string,
  pieces: Iterable<Buffer>,
  { start, checksum, packed, unpacked }: Pick<Place, 'checksum' | 'packed' | 'unpacked'> & { start: number },
): AsyncGenerator<Buffer> {
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(checksum)
  trailer.writeUInt32LE(unpacked % 2 ** 32, 4)
  const fail = (after: number, reason: string) => damaged(what, `after byte ${start + after}: ${reason}`)
  if (packed <= PIECE_BYTES && unpacked <= MAX_UNPACKED_AT_ONCE) {
    try {
      yield gunzipSync(Buffer.concat([GZIP_HEADER, ...pieces, trailer]), { maxOutputLength: MAX_UNPACKED_AT_ONCE })
      return
    } catch (error) {
      throw error instanceof UnusableSetting ? error : fail(0, error instanceof Error ? error.message : String(error))
    }
  }
  const decoder = createDecoder(GZIP_HEADER)
  yield* decoder.decode(GZIP_HEADER)
  for (const piece of pieces) yield* decoder.decode(piece)
  yield* decoder.decode(trailer)
  const fault = await decoder.end()
  if (fault) throw fail(Math.max(0, fault.at - GZIP_HEADER.length), fault.reason)
}
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])
/** Bounds memory; larger entries are unpacked in chunks. */
const MAX_UNPACKED_AT_ONCE = 4 << 20
