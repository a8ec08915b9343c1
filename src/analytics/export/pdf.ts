import { closeSync, openSync, readSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { ApiError, UnusableSetting } from '../../base/errors.js'
import { createFairShare } from '../../base/fair-share.js'
import { createSlots } from '../../base/slots.js'
import type { Fonts } from './pdf/typesetter.js'
import type { Sheet } from './sheet.js'

export type PdfRenderer = ReturnType<typeof createPdfRenderer>

const MAX_CONCURRENT_PDFS = 2
const DRAW_TIMEOUT_MS = 30_000
const HEAP_MB = 256

const dataFile = (name: string): string => fileURLToPath(new URL(`../../../data/${name}`, import.meta.url))

/**
 * Draws each sheet in a thread of its own, two at once, so the proxy's event loop stays free. Tenants take turns. `font` is a file for
 * characters that the shipped fonts lack; throws a one-line message if it is not a font.
 */
export function createPdfRenderer(font: string | undefined) {
  if (font !== undefined) checkFont(font)
  const fonts: Fonts = {
    regular: dataFile('DejaVuSansCondensed.ttf.br'),
    bold: dataFile('DejaVuSansCondensed-Bold.ttf.br'),
    fallback: font,
  }
  const slots = createSlots(MAX_CONCURRENT_PDFS)
  const shares = createFairShare(MAX_OPEN_PDFS)
  return {
    /** Draws a sheet for a tenant. Rejects if it fails, takes longer than 30 s, or `signal` aborts. */
    async draw(sheet: Sheet, tenant: number, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
      // A waiting sheet takes memory in the process that serves the site.
      const leave = shares.enter(tenant)
      if (!leave) throw pdfError('Too many PDFs are being created: try again shortly.')
      try {
        return await slots(() => drawInThread(sheet, fonts, signal), { asker: `${tenant}`, signal })
      } finally {
        leave()
      }
    },
  }
}

/** Bounds the sheets that are drawn or wait: one tenant alone has half. */
const MAX_OPEN_PDFS = 36
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
        () => reject(pdfError('The PDF took longer than 30 s: request fewer rows.')),
        DRAW_TIMEOUT_MS,
      )
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      worker.once('message', (bytes: Uint8Array<ArrayBuffer>) => resolve(bytes))
      worker.once('error', (cause) => reject(pdfError('The PDF could not be created: request fewer rows.', cause)))
      worker.once('exit', () => {
        clearTimeout(late)
        reject(pdfError('The PDF was not completed.'))
      })
    })
  } finally {
    await worker.terminate()
  }
}

/** The first bytes of TrueType, OpenType, font collections and both kinds of web font. */
const FONT_SIGNATURES: ReadonlySet<string> = new Set(['\0\x01\0\0', 'true', 'OTTO', 'ttcf', 'wOFF', 'wOF2'])

function checkFont(file: string): void {
  const bytes = Buffer.alloc(4)
  try {
    const opened = openSync(file, 'r')
    readSync(opened, bytes)
    closeSync(opened)
  } catch (error) {
    throw new UnusableSetting(`--pdf-font: cannot read ${file}`, { cause: error })
  }
  if (!FONT_SIGNATURES.has(bytes.toString('latin1')))
    throw new UnusableSetting(`--pdf-font: ${file} is not a TrueType, OpenType or web font.`)
}
