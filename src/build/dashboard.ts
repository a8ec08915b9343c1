import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { listLicences } from './licences.js'

const SOURCE = 'src/browser/dashboard'
const TARGET = 'dist/dashboard'
const STAMP = `${TARGET}/.sources`

/** Bundles the dashboard into `dist/dashboard`, with compressed copies, unless its sources are those of the last build. */
export async function buildDashboard(): Promise<void> {
  const stamp = hashSources()
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === stamp) return
  // Loaded only when there is something to bundle: it takes longer to load than everything else of an unchanged build.
  const { build } = await import('vite')
  rmSync(TARGET, { recursive: true, force: true })
  await build({
    configFile: false,
    logLevel: 'warn',
    root: SOURCE,
    base: './',
    plugins: [listLicences('LICENSES.txt')],
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir: `../../../${TARGET}`,
      emptyOutDir: true,
      target: 'es2022',
      assetsInlineLimit: 0,
      // One style sheet of 12 KB: a second one is a request that holds up the first drawing.
      cssCodeSplit: false,
      modulePreload: { polyfill: false },
      // One file of all that several views share: 20 small ones took a quarter of a second to load.
      rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'shared', minShareCount: 2 }] } } },
    },
  })
  for (const file of listFiles(TARGET)) compress(file)
  writeFileSync(STAMP, stamp)
}

const listFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile())
    .sort()

function hashSources(): string {
  const hash = createHash('sha256')
  for (const file of [...listFiles(SOURCE), 'package-lock.json', 'src/build/dashboard.ts'])
    hash.update(file).update(readFileSync(file))
  return hash.digest('hex')
}

/** Writes `.br` and `.gz` copies where they are smaller. */
function compress(file: string): void {
  const bytes = readFileSync(file)
  const copies = {
    br: brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
    gz: gzipSync(bytes, { level: 9 }),
  }
  for (const [ending, copy] of Object.entries(copies))
    if (copy.length < bytes.length) writeFileSync(`${file}.${ending}`, copy)
}
