import { createReadStream } from 'node:fs'
import { open, readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { TextDecoder } from 'node:util'
import { unzipSync } from 'fflate'
import { createDecoder } from '../access-logs/decompress.js'
import { UnusableSetting } from '../errors.js'

/** A file of an export: a file, or one that a ZIP has. */
export interface ExportFile {
  readonly name: string
  /** Returns the text at the beginning. */
  head(): Promise<string>
  bytes(): AsyncIterable<Uint8Array>
}

const HEAD_CHARS = 65_536
/** The largest ZIP, and the largest file in one; larger exports are unpacked first. */
const MAX_ZIP_BYTES = 1_000_000_000
const MAX_UNPACKED_BYTES = 500_000_000

/** Opens the files; of a ZIP those with text. Throws `UnusableSetting` for one that cannot be read. */
export async function openExports(paths: readonly string[], maxUnpacked = MAX_UNPACKED_BYTES): Promise<ExportFile[]> {
  const opened: ExportFile[] = []
  for (const path of paths) opened.push(...((await isZip(path)) ? await openZip(path, maxUnpacked) : [openFile(path)]))
  return opened
}

async function isZip(path: string): Promise<boolean> {
  const start = Buffer.alloc(4)
  const file = await open(path).catch(unreadable(path))
  try {
    await file.read(start, 0, 4, 0).catch(unreadable(path))
  } finally {
    await file.close()
  }
  return start.toString('latin1') === 'PK\x03\x04'
}

const unreadable = (path: string) => (error: Error) => {
  throw new UnusableSetting(`${path} cannot be read: ${error.message}`)
}

function openFile(path: string): ExportFile {
  return withHead(basename(path), async function* () {
    const stream = createReadStream(path)
    let decoder: ReturnType<typeof createDecoder> | undefined
    for await (const chunk of stream) {
      const piece = Buffer.from(chunk)
      decoder ??= createDecoder(piece)
      yield* await decoder.decode(piece)
    }
    const fault = await decoder?.end()
    if (fault !== undefined) throw new UnusableSetting(`${path} is damaged: ${fault}`)
  })
}

/** Each file of a ZIP is unpacked when it is read. */
async function openZip(path: string, maxUnpacked: number): Promise<ExportFile[]> {
  if ((await stat(path)).size > MAX_ZIP_BYTES) throw new UnusableSetting(`${path} is too large: unpack it first.`)
  const zip = await readFile(path).catch(unreadable(path))
  const names: string[] = []
  unzip(path, zip, ({ name, originalSize }) => {
    if (!/\.(csv|tsv|txt|json|ndjson|jsonl|sql)$/i.test(name) || /(^|\/)(__MACOSX\/|\.)/.test(name)) return false
    if (originalSize > maxUnpacked)
      throw new UnusableSetting(`${path}: ${name} has ${originalSize} bytes. Unpack it, and add the file itself.`)
    names.push(name)
    return false
  })
  return names.map((name) =>
    withHead(name, async function* () {
      const unpacked = unzip(path, zip, (entry) => entry.name === name)[name]
      if (unpacked) yield unpacked
    }),
  )
}

/** The library allocates the size that the ZIP states, and never writes beyond it. */
function unzip(path: string, zip: Uint8Array, filter: (entry: { name: string; originalSize: number }) => boolean) {
  try {
    return unzipSync(zip, { filter })
  } catch (error) {
    if (error instanceof UnusableSetting) throw error
    throw new UnusableSetting(`${path} is damaged: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function withHead(name: string, bytes: ExportFile['bytes']): ExportFile {
  return {
    name,
    bytes,
    async head() {
      let text = ''
      for await (const piece of decodeText({ bytes })) {
        text += piece
        if (text.length >= HEAD_CHARS) break
      }
      return text
    },
  }
}

/** Yields the text of a file: UTF-8, or UTF-16 with the mark at its beginning. */
export async function* decodeText({ bytes }: Pick<ExportFile, 'bytes'>): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined
  for await (const chunk of bytes()) {
    if (chunk.length === 0) continue
    decoder ??= new TextDecoder(encodingOf(chunk))
    for (let at = 0; at < chunk.length; at += PIECE_BYTES)
      yield decoder.decode(chunk.subarray(at, at + PIECE_BYTES), { stream: true })
  }
  if (decoder) yield decoder.decode()
}
const PIECE_BYTES = 262_144

function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
}
