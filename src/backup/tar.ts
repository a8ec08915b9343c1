import type { FileHandle } from 'node:fs/promises'

/*
 * The part of the tar format (POSIX.1-2017, pax, "ustar Interchange Format") that backups use: plain files with short names.
 * A file from 8 GiB on has its size in base 256, as GNU tar writes it.
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
const sumOf = (header: Buffer): number =>
  header.reduce((sum, byte, at) => sum + (at >= SUM_AT && at < SUM_AT + 8 ? 0x20 : byte), 0)

/** A file in a tar file. */
export interface TarEntry {
  readonly name: string
  /** The place of its first byte. */
  readonly start: number
  readonly size: number
}

/** Lists the files of a tar file, whose padding and end must be zeros. Throws an error of one line if it is damaged or cut off. */
export async function listTar(file: FileHandle): Promise<TarEntry[]> {
  const { size: total } = await file.stat()
  const entries: TarEntry[] = []
  const readBlock = async (at: number, length: number): Promise<Buffer> => {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, at)
    if (bytesRead < length) throw new Error('the file is cut off.')
    return buffer
  }
  for (let at = 0; ; ) {
    const last = entries.at(-1)?.name ?? 'its beginning'
    const header = await readBlock(at, BLOCK)
    if (header.every((byte) => byte === 0)) {
      const end = await readBlock(at, Math.max(total - at, TAR_END.length))
      if (end.length > TAR_END.length || end.some((byte) => byte !== 0))
        throw new Error(`the file is damaged after ${last}.`)
      return entries
    }
    if (Number.parseInt(header.toString('latin1', SUM_AT, SUM_AT + 6), 8) !== sumOf(header))
      throw new Error(`the file is damaged after ${last}.`)
    const [name = ''] = header.toString('latin1', 0, 100).split('\0')
    const size =
      header[SIZE_AT] === 0x80
        ? Number(header.readBigUInt64BE(SIZE_AT + 4))
        : Number.parseInt(header.toString('latin1', SIZE_AT, SIZE_AT + 11), 8)
    const start = at + BLOCK
    const padding = tarPadding(size).length
    if (start + size + padding > total) throw new Error(`the file is cut off in ${name}.`)
    if ((await readBlock(start + size, padding)).some((byte) => byte !== 0))
      throw new Error(`the file is damaged after ${name}.`)
    entries.push({ name, start, size })
    at = start + size + padding
  }
}
