import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import t from 'tap'
import { z } from 'zod'

const Component = z.object({
  'bom-ref': z.string(),
  purl: z.string(),
  scope: z.string().optional(),
  licenses: z.array(z.unknown()).min(1).optional(),
  properties: z.array(z.object({ name: z.string(), value: z.string() })).optional(),
})
const Sbom = z.object({
  metadata: z.object({ component: Component }),
  components: z.array(Component),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()).optional() })),
})
const document: unknown = JSON.parse(readFileSync('dist/sbom.cdx.json', 'utf8'))
const { metadata, components, dependencies } = Sbom.parse(document)
const delivered = (how: string) =>
  components.filter(({ properties = [] }) => properties.some(({ value }) => value === how)).map(({ purl }) => purl)

t.test('the list of packages is CycloneDX 1.6', async (t) => {
  const folder = 'node_modules/@cyclonedx/cyclonedx-library/res/schema'
  const schema = (name: string) => JSON.parse(readFileSync(`${folder}/${name}.SNAPSHOT.schema.json`, 'utf8'))
  const ajv = new Ajv({ strict: false, validateFormats: false })
  for (const name of ['spdx', 'jsf-0.82', 'cryptography-defs'])
    ajv.addSchema(schema(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`)
  const validate = ajv.compile(schema('bom-1.6'))
  t.ok(validate(document), JSON.stringify(validate.errors))
})

t.test('it has each package that a user runs, once, with a licence', async (t) => {
  const purls = components.map(({ purl }) => purl)
  t.equal(new Set(purls).size, purls.length, 'none twice')
  t.same(
    components.filter(({ licenses }) => licenses === undefined).map(({ purl }) => purl),
    [],
    'licences',
  )
  t.notMatch(JSON.stringify(components.map((one) => one.licenses)), /GPL/, 'no licence of the GPL family')
  const Lock = z.object({
    packages: z.record(
      z.string(),
      z.object({ version: z.string(), dev: z.boolean().optional(), peer: z.boolean().optional() }),
    ),
  })
  const { packages } = Lock.parse(JSON.parse(readFileSync('package-lock.json', 'utf8')))
  const installed = Object.entries(packages).flatMap(([path, { version, dev, peer }]) =>
    path === '' || dev || peer ? [] : `pkg:npm/${path.replace(/^.*node_modules\//, '').replace('@', '%40')}@${version}`,
  )
  t.same(delivered('installed').sort(), [...new Set(installed)].sort(), 'installed, by the lock file')
  const bundled = delivered('bundled').map((purl) => purl.replace(/^pkg:npm\//, '').replace(/@[^@]*$/, ''))
  for (const name of ['undici', 'http-proxy', 'zod', 'hono', 'preact', 'dejavu-fonts-ttf', '%40ip-location-db/asn'])
    t.ok(bundled.includes(name), `bundled: ${name}`)
  t.notOk(bundled.includes('typescript') || bundled.includes('debug'), 'tools are not delivered')
})

t.test('it says what needs what, and is the same in each build', async (t) => {
  const refs = new Set([metadata.component, ...components].map((one) => one['bom-ref']))
  for (const { ref, dependsOn = [] } of dependencies) for (const one of [ref, ...dependsOn]) t.ok(refs.has(one), one)
  const needs = dependencies.find(({ ref }) => ref.startsWith('pkg:npm/pdfkit@'))?.dependsOn ?? []
  t.ok(
    needs.some((one) => one.startsWith('pkg:npm/fontkit@')),
    'pdfkit needs fontkit',
  )
  t.notMatch(document, { serialNumber: String }, 'no random number')
  t.notMatch(document, { metadata: { timestamp: String } }, 'no time')
})
