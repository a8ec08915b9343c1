import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { brotliCompressSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { minify } from 'terser'
import { z } from 'zod'
import { compileGeoFile } from '../worker/ingest/place/geo-compiler.js'
import { encodeGeoFile, GEO_FILE_FORMAT } from '../worker/ingest/place/geo-file.js'
import { buildDashboard } from './dashboard.js'
import { buildDocs } from './docs/build-docs.js'
import { copyTypes } from './library.js'
import { buildPrograms } from './programs.js'
import { writeSbom } from './sbom.js'

/** The part of `npm run build` that is not compilation: copies data files next to the code that reads them. */
cpSync('src', 'dist/src', {
  recursive: true,
  filter: (file) => !/\.tsx?$|\.md$|\.json$|^src\/(?:browser\/(?:dashboard|docs)|docs)$/.test(file),
})
for (const file of readdirSync('src', { recursive: true, encoding: 'utf8' }))
  if (/\.json$/.test(file) && !file.startsWith('browser/'))
    writeFileSync(`dist/src/${file}`, JSON.stringify(JSON.parse(readFileSync(`src/${file}`, 'utf8'))))
await buildPrograms()
copyTypes(['hono', 'ipaddr.js', 'openapi-fetch'])
// npm marks the program executable when it links it, but each build writes a new file.
chmodSync('dist/bin/readership.js', 0o755)
// Imported here: it reads some of the data files.
const { formatManPage } = await import('../app/cli/man-page.js')
writeFileSync('dist/readership.1', formatManPage(readVersion('package.json')))
buildGeo('dist/data')
await buildScript('dist/src/browser/tracker')
await buildDashboard()
await buildDocs()
// The recorded calls of the API document, which stand next to the test that records them.
cpSync('test/api/api-examples.json', 'dist/data/api-examples.json')
// The fonts of PDFs, with the licence that every copy must carry. Compressed, because they are a tenth of the package.
for (const name of ['DejaVuSansCondensed.ttf', 'DejaVuSansCondensed-Bold.ttf'])
  if (!existsSync(`dist/data/${name}.br`))
    writeFileSync(`dist/data/${name}.br`, brotliCompressSync(readFileSync(`node_modules/dejavu-fonts-ttf/ttf/${name}`)))
cpSync('node_modules/dejavu-fonts-ttf/LICENSE', 'dist/data/DejaVu-LICENSE.txt')
writeSbom('dist/sbom.cdx.json')

/** Bundles and minifies the tracker into the one file that browsers load. */
async function buildScript(folder: string): Promise<void> {
  const bundle = await rolldown({ input: `${folder}/script-tag.js` })
  const [{ code }] = (await bundle.generate({ format: 'es' })).output
  await bundle.close()
  // `let` for every declaration compresses better; no identifier of the tracker contains the word.
  const script = await minify(code.replace(/\bconst\b/g, 'let'), {
    ecma: 2018,
    toplevel: true,
    compress: {
      passes: 3,
      booleans_as_integers: true,
      keep_fargs: false,
      lhs_constants: false,
      pure_getters: true,
      unsafe: true,
      unsafe_arrows: true,
      unsafe_comps: true,
    },
    format: { comments: false },
  })
  if (!script.code) throw new Error(`${folder}: the minified tracker is empty`)
  // A block keeps its `let` names from the page, as a function would, in fewer bytes.
  writeFileSync(`${folder}/script.js`, `{${script.code}}`)
}

/** Compiles countries and networks from the two data packages into one dated file, unless that file exists. */
function buildGeo(folder: string): void {
  const country = source('geo-whois-asn-country')
  const asn = source('asn')
  const name = `geo-${[country.date, asn.date].sort().at(0)}.${GEO_FILE_FORMAT}.bin`
  if (existsSync(`${folder}/${name}`)) return
  const geo = compileGeoFile({
    sources: {
      country: { name: country.name, date: country.date },
      asn: { name: asn.name, date: asn.date },
    },
    country4: country.read('geo-whois-asn-country-ipv4-num.csv'),
    country6: country.read('geo-whois-asn-country-ipv6-num.csv'),
    asn4: asn.read('asn-ipv4-num.csv'),
    asn6: asn.read('asn-ipv6-num.csv'),
  })
  mkdirSync(folder, { recursive: true })
  for (const old of readdirSync(folder)) if (/^geo-.*\.bin$/.test(old)) rmSync(`${folder}/${old}`)
  writeFileSync(`${folder}/${name}.part`, encodeGeoFile(geo))
  renameSync(`${folder}/${name}.part`, `${folder}/${name}`)
}

/** Opens a data package. Its version ends in the day and hour of the data: 2.3.2026061719. */
function source(name: string) {
  const folder = `node_modules/@ip-location-db/${name}`
  const version = readVersion(`${folder}/package.json`)
  const [, year, month, day] = /\.(\d{4})(\d{2})(\d{2})\d{2}$/.exec(version) ?? []
  if (!day) throw new Error(`${folder}: no date in version ${version}`)
  return {
    name: `@ip-location-db/${name}`,
    date: `${year}-${month}-${day}`,
    read: (file: string) => readFileSync(`${folder}/${file}`, 'utf8'),
  }
}

function readVersion(file: string): string {
  return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(file, 'utf8'))).version
}
