import type { FileHandle } from 'node:fs/promises'

/*
 * The tar format (POSIX.1-2017, pax, "ustar Interchange Format", with GNU tar's additions). Backups are written as plain
 * files with short names; a file from 8 GiB on has its size in base 256, as GNU tar writes it. Read is what any tar wrote:
 * whether the content is that of the backup is a matter of the manifest.
 */

const BLOCK = 512
const MAX_OCTAL_SIZE = 0o77777777777
/** Two blocks of zeros. */
export const TAR_END: Uint8Array = Buffer.alloc(2 * BLOCK)
const SIZE_AT = 124
const SUM_AT = 148

/** Returns the zeros after a file of this size. */
export const tarPadding = (size: number): Uint8Array => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)

/** Returns the header of a file that only its owner may read. */
export function formatTarHeader(name: string, size: number, modified: Date): Uint8Array {
  const header = Buffer.alloc(BLOCK)
  if (Buffer.byteLength(name) > 100) throw new RangeError(`the name ${name} is too long for a tar file`)
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`
  header.write(name, 0)
  header.write(octal(0o600, 7), 100)
  header.write(octal(0, 7), 108)
  header.write(octal(0, 7), 116)
  if (size <= MAX_OCTAL_SIZE) header.write(octal(size, 11), SIZE_AT)
  else {
    header[SIZE_AT] = 0x80
    header.writeBigUInt64BE(BigInt(size), SIZE_AT + 4)
  }
  header.write(octal(Math.floor(modified.getTime() / 1000), 11), 136)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  header.write(`${sumOf(header).toString(8).padStart(6, '0')}\0 `, SUM_AT)
  return header
}

/** The sum of the header's bytes, with spaces in the place of the sum. */
const sumOf = (header: Buffer): number => header.reduce((sum, byte, at) => sum + (isInSum(at) ? 0x20 : byte), 0)
const isInSum = (at: number): boolean => at >= SUM_AT && at < SUM_AT + 8

/** A file in a tar file. */
export interface TarEntry {
  readonly name: string
  /** The place of its first byte. */
  readonly start: number
  readonly size: number
  /** False for a link, a pipe or a device. */
  readonly isPlain: boolean
}

/** A backup has a file for each table and day: 30,000 in ten years. */
const MAX_ENTRIES = 200_000
/** A long name, or the pax records of one file. */
const MAX_EXTENSION_BYTES = 64 << 10
const WINDOW_BYTES = 16 << 10
const [NAME_AT, NAME_LENGTH, PREFIX_AT, PREFIX_LENGTH] = [0, 100, 345, 155]
const TYPE_AT = 156
const MAGIC_AT = 257

/**
 * Lists the files of a tar file up to its end, which is a block of zeros or the end of the file. Throws an error of one line
 * if a header is damaged or a file is cut off.
 */
export async function listTar(file: FileHandle): Promise<TarEntry[]> {
  const { size: total } = await file.stat()
  const entries: TarEntry[] = []
  const read = createWindow(file)
  let next: Extension = {}
  for (let at = 0; at < total; ) {
    const header = await read(at, BLOCK)
    if (header.every((byte) => byte === 0)) break
    const last = entries.at(-1)?.name
    if (!hasSum(header))
      throw new Error(last === undefined ? 'it is not a tar file.' : `the file is damaged after ${last}.`)
    if (entries.length === MAX_ENTRIES) throw new Error(`it has more than ${MAX_ENTRIES} files, which no backup has.`)
    const type = header.toString('latin1', TYPE_AT, TYPE_AT + 1)
    const name = next.name ?? readName(header)
    const size = SPECIAL_TYPES.has(type) ? 0 : (next.size ?? readNumber(header, SIZE_AT, 12))
    const start = at + BLOCK
    if (!Number.isSafeInteger(size) || size < 0) throw new Error(`the size of ${name} is not a number.`)
    if (start + size > total) throw new Error(`the file is cut off in ${name}.`)
    at = start + size + tarPadding(size).length
    if (EXTENSION_TYPES.has(type)) {
      if (size > MAX_EXTENSION_BYTES) throw new Error(`a header after ${last ?? 'the beginning'} is too long.`)
      next = { ...next, ...readExtension(type, await read(start, size)) }
      continue
    }
    next = {}
    if (type !== DIRECTORY_TYPE)
      entries.push({ name: name.replace(/^(\.?\/)+/, ''), start, size, isPlain: !SPECIAL_TYPES.has(type) })
  }
  return entries
}

/** Returns a function that reads a range, and reads ahead, because the headers of small files are close to each other. */
function createWindow(file: FileHandle): (at: number, length: number) => Promise<Buffer> {
  let [from, ahead] = [0, Buffer.alloc(0)]
  return async (at, length) => {
    if (at < from || at + length > from + ahead.length) {
      const size = Math.max(length, WINDOW_BYTES)
      const { bytesRead, buffer } = await file.read(Buffer.alloc(size), 0, size, at)
      if (bytesRead < length) throw new Error('the file is cut off.')
      from = at
      ahead = buffer.subarray(0, bytesRead)
    }
    return ahead.subarray(at - from, at - from + length)
  }
}

/** Hard link, symbolic link, devices, named pipe: these have no content. GNU tar's sparse files have not all of theirs. */
const SPECIAL_TYPES = new Set(['1', '2', '3', '4', '6', 'S'])
const DIRECTORY_TYPE = '5'
/** GNU tar's long name and long target of a link; pax records of all files, and of the next one. */
const EXTENSION_TYPES = new Set(['L', 'K', 'g', 'x'])

/** The facts of a header about the file after it. */
interface Extension {
  name?: string
  size?: number
}

function readExtension(type: string, body: Buffer): Extension {
  if (type === 'L') return { name: untilZero(body.toString()) }
  if (type !== 'x') return {}
  const extension: Extension = {}
  // `LENGTH KEY=VALUE`, where the length is in bytes and counts the whole line.
  for (let at = 0; at < body.length; ) {
    const length = Number.parseInt(body.toString('latin1', at, at + 20), 10)
    if (!(length > 0)) break
    const record = body.toString('utf8', at, at + length - 1)
    const [, key, value = ''] = /^\d+ ([^=]+)=(.*)$/s.exec(record) ?? []
    if (key === 'path') extension.name = value
    if (key === 'size') extension.size = Number(value)
    at += length
  }
  return extension
}

const untilZero = (text: string): string => text.split('\0', 1)[0] ?? ''

function readName(header: Buffer): string {
  const field = (at: number, length: number) => untilZero(header.toString('utf8', at, at + length))
  // GNU tar has times where others have the beginning of a long name.
  const prefix = header.toString('latin1', MAGIC_AT, MAGIC_AT + 6) === 'ustar\0' ? field(PREFIX_AT, PREFIX_LENGTH) : ''
  return prefix === '' ? field(NAME_AT, NAME_LENGTH) : `${prefix}/${field(NAME_AT, NAME_LENGTH)}`
}

/** Reads octal digits, or the bytes of a number after the mark 0x80. */
function readNumber(header: Buffer, at: number, length: number): number {
  if (header[at] === 0x80) return Number(BigInt(`0x${header.toString('hex', at + 1, at + length)}`))
  const digits = untilZero(header.toString('latin1', at, at + length)).trim()
  return digits === '' ? 0 : /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : Number.NaN
}

/** Some programs have added the bytes as signed ones. */
function hasSum(header: Buffer): boolean {
  const sum = readNumber(header, SUM_AT, 8)
  const negative = header.reduce((count, byte, at) => count + (byte > 127 && !isInSum(at) ? 1 : 0), 0)
  return sum === sumOf(header) || sum === sumOf(header) - 256 * negative
}
