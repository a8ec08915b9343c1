import { closeSync, openSync, readSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { ApiError } from '../errors.js'
import type { Fonts } from './pdf/typesetter.js'
import type { Sheet } from './sheet.js'

/** Sheets to PDF. */
export interface PdfRenderer {
  /** Rejects where it cannot be drawn, takes longer than 30 s, or `signal` says that nobody waits for it. */
  draw(sheet: Sheet, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer>>
}

const MAX_CONCURRENT_PDFS = 2
const DRAW_TIMEOUT_MS = 30_000
const HEAP_MB = 256

const dataFile = (name: string): string => fileURLToPath(new URL(`../../data/${name}`, import.meta.url))

/**
 * Draws each sheet in a thread of its own, at most two at once: the proxy's thread does nothing but wait. `font` is a
 * file for what the shipped fonts lack; throws one line where it is none.
 */
export function createPdfRenderer(font: string | undefined): PdfRenderer {
  if (font !== undefined) checkFont(font)
  const fonts: Fonts = {
    regular: dataFile('DejaVuSansCondensed.ttf'),
    bold: dataFile('DejaVuSansCondensed-Bold.ttf'),
    fallback: font,
  }
  let running = 0
  const waiting: (() => void)[] = []
  return {
    async draw(sheet, signal) {
      // A sheet that waits is memory of the thread that serves the site.
      if (waiting.length >= MAX_WAITING_PDFS)
        throw pdfError('Too many PDFs are being drawn: try again when they are done.')
      while (running >= MAX_CONCURRENT_PDFS) await new Promise<void>((resolve) => waiting.push(resolve))
      running++
      try {
        signal?.throwIfAborted()
        return await drawInThread(sheet, fonts, signal)
      } finally {
        running--
        waiting.shift()?.()
      }
    },
  }
}

const MAX_WAITING_PDFS = 16
const pdfError = (message: string, cause?: unknown): ApiError =>
  new ApiError('database_error', message, undefined, cause === undefined ? {} : { cause })

async function drawInThread(
  sheet: Sheet,
  fonts: Fonts,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const worker = new Worker(new URL('./pdf/entry.js', import.meta.url), {
    name: 'readership-pdf',
    workerData: { sheet, fonts },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  })
  try {
    return await new Promise((resolve, reject) => {
      const late = setTimeout(
        () => reject(pdfError('The PDF took longer than 30 s: ask for fewer rows.')),
        DRAW_TIMEOUT_MS,
      )
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      worker.once('message', (bytes: Uint8Array<ArrayBuffer>) => resolve(bytes))
      worker.once('error', (cause) => reject(pdfError('The PDF could not be drawn: ask for fewer rows.', cause)))
      worker.once('exit', () => {
        clearTimeout(late)
        reject(pdfError('The PDF was not drawn to its end.'))
      })
    })
  } finally {
    await worker.terminate()
  }
}

/** By their first bytes: TrueType, OpenType, a collection of them, and both kinds of web font. */
const FONT_SIGNATURES: ReadonlySet<string> = new Set(['\0\x01\0\0', 'true', 'OTTO', 'ttcf', 'wOFF', 'wOF2'])

function checkFont(file: string): void {
  const bytes = Buffer.alloc(4)
  try {
    const opened = openSync(file, 'r')
    readSync(opened, bytes)
    closeSync(opened)
  } catch (error) {
    throw new Error(`--pdf-font: cannot read ${file}`, { cause: error })
  }
  if (!FONT_SIGNATURES.has(bytes.toString('latin1')))
    throw new Error(`--pdf-font: ${file} is no font that is known here.`)
}
