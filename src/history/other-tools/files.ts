import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { TextDecoder } from 'node:util'
import { UnusableSetting } from '../../base/errors.js'
import { createDecoder } from '../access-logs/decompress.js'
import { openParts, readZip } from './zip.js'

/** A file of an export: a file, or one that a ZIP has. */
export interface ExportFile {
  readonly name: string
  /** Returns the text at the beginning. */
  head(): Promise<string>
  bytes(): AsyncIterable<Uint8Array>
}

const HEAD_CHARS = 65_536

/** Opens the files; of a ZIP those with text. Throws `UnusableSetting` for one that cannot be read. */
export async function openExports(paths: readonly string[], openZipFile = openParts): Promise<ExportFile[]> {
  const opened: ExportFile[] = []
  for (const path of paths)
    if (await isZip(path)) {
      for (const { name, bytes } of readZip(path, openZipFile)) if (isText(name)) opened.push(withHead(name, bytes))
    } else opened.push(openFile(path))
  return opened
}

const isText = (name: string): boolean =>
  /\.(csv|tsv|txt|json|ndjson|jsonl|sql)$/i.test(name) && !/(^|\/)(__MACOSX\/|\.)/.test(name)

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
      yield* decoder.decode(piece)
    }
    const fault = await decoder?.end()
    if (fault)
      throw new UnusableSetting(
        `${path} is cut short or damaged after byte ${fault.at}: ${fault.reason}. Export it again.`,
      )
  })
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
