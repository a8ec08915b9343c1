import { rmSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'
import { minifySync } from 'rolldown/utils'
import { PUBLISHED_MODULES } from './library.js'
import { listLicences } from './licences.js'

/** The programs: each starts in a process or thread of its own, and shares no objects with what else it imports. */
const PROGRAMS = [
  'bin/readership',
  'src/worker/entry',
  'src/app/cli/site-processes/entry',
  'src/analytics/export/pdf/entry',
  'src/history/log-import/entry',
]
/**
 * Packages that are installed beside readership: they find native code or data files by their own place on the disk, are
 * installed only where they are used, or have types that a published module shows.
 */
const EXTERNAL = [
  /^@clickhouse\//,
  /^@duckdb\//,
  /^@node-rs\//,
  // follow-redirects works without it; it is here only because tools of development depend on it.
  /^debug$/,
  /^fontkit$/,
  /^ipaddr\.js$/,
  /^openapi-fetch$/,
  /^pdfkit$/,
  /^pg$/,
  /^robots-parser$/,
]

/**
 * Bundles the programs, in the place of their compiled files, and the published modules, into `dist/lib`; shared code is in
 * `dist/chunks`. A start then reads some 30 files instead of 1,200, which is a third of its CPU. The package has the bundles
 * alone; the compiled files stay in `dist` for the tests.
 */
export async function buildPrograms(): Promise<void> {
  for (const folder of ['dist/chunks', 'dist/lib']) rmSync(folder, { recursive: true, force: true })
  const bundle = await rolldown({
    input: {
      ...Object.fromEntries(PROGRAMS.map((name) => [name, `${name}.ts`])),
      ...Object.fromEntries(Object.entries(PUBLISHED_MODULES).map(([name, file]) => [`lib/${name}`, `${file}.ts`])),
    },
    platform: 'node',
    external: EXTERNAL,
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    plugins: [keepPlaces(), keepCatalog(), minifyPackages(), keepLatin1(), listLicences('LICENSES.txt')],
    logLevel: 'warn',
  })
  await bundle.write({
    dir: 'dist',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    comments: { jsdoc: false },
  })
  await bundle.close()
}

const PLACE = '__placeOfModule__'
const CHUNK = 'urlOfChunk__'

/**
 * Lets `import.meta.url` be the address of the compiled file as before, because data files are found beside it. A chunk
 * keeps its own address in a constant: bundlers of applications take `new URL('…', import.meta.url)` for a file to copy.
 */
function keepPlaces(): Plugin {
  return {
    name: 'keep-places',
    transform(code, id) {
      const file = relative(resolve('.'), id)
      if (!file.endsWith('.ts') || !code.includes('import.meta.url')) return
      const place = JSON.stringify(file.replace(/ts$/, 'js'))
      return code.replaceAll('import.meta.url', `${PLACE}(${place})`)
    },
    renderChunk(code, chunk) {
      const place = new RegExp(`${PLACE}\\("([^"]+)"\\)`, 'g')
      const placed = code.replace(place, (_, file: string) => {
        const path = relative(dirname(chunk.fileName), file)
        return `new URL(${JSON.stringify(path.startsWith('.') ? path : `./${path}`)}, ${CHUNK}).href`
      })
      return placed === code ? null : placed.replace(/^(#!.*\n)?/, `$1const ${CHUNK} = import.meta.url;\n`)
    },
  }
}

/** Leaves the list of agents a file of its own, which the other modules read from the disk: it is a third of a megabyte. */
function keepCatalog(): Plugin {
  return {
    name: 'keep-catalog',
    resolveId: (id) =>
      id.endsWith('/agents/catalog.json') ? { id: '../src/agents/catalog.json', external: true } : null,
  }
}

/** Minifies the files that hold code of packages only. readership's own code stays readable where a stack trace names it. */
function minifyPackages(): Plugin {
  const isPackage = (id: string): boolean => /\/node_modules\/|^\0/.test(id)
  return {
    name: 'minify-packages',
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle))
        if (file.type === 'chunk' && !file.isEntry && file.moduleIds.every(isPackage))
          file.code = minifySync(file.fileName, file.code, { module: true }).code
    },
  }
}

/** Escapes other characters than those of Latin-1: one of them makes V8 keep a whole file at two bytes a character. */
function keepLatin1(): Plugin {
  return {
    name: 'keep-latin1',
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle))
        if (file.type === 'chunk')
          file.code = file.code.replace(
            /[^\0-\xff]/g,
            (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
          )
    },
  }
}
