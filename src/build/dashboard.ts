import { rmSync } from 'node:fs'
import { compress, listFiles, whenChanged } from './files.js'
import { listLicences } from './licences.js'

const SOURCE = 'src/browser/dashboard'
const TARGET = 'dist/dashboard'

/** The texts of single views (`texts/later.ts`) are a chunk of their own: the shared chunk is loaded before the first drawing. */
const isOfFirstViews = (file: string): boolean =>
  !/\/texts\/(?:later|\w+\/(?:later|answers|bill|blank|editions|evidence|formats|suspected))\.ts$/.test(file)

/** Bundles the dashboard into `dist/dashboard`, with compressed copies, unless its sources are those of the last build. */
export const buildDashboard = (): Promise<void> =>
  whenChanged(`${TARGET}/.sources`, [...listFiles(SOURCE), 'package-lock.json', 'src/build/dashboard.ts'], async () => {
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
        rolldownOptions: {
          output: { codeSplitting: { groups: [{ name: 'shared', minShareCount: 2, test: isOfFirstViews }] } },
        },
      },
    })
    for (const file of listFiles(TARGET)) compress(file)
  })
