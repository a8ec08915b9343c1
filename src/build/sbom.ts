import { readFileSync, writeFileSync } from 'node:fs'
import { Enums, Models, Serialize, Spec } from '@cyclonedx/cyclonedx-library'
import { z } from 'zod'

const LockedPackage = z.object({
  version: z.string(),
  license: z.string().optional(),
  integrity: z.string().optional(),
  dev: z.boolean().optional(),
  peer: z.boolean().optional(),
  optional: z.boolean().optional(),
  dependencies: z.record(z.string(), z.string()).optional(),
  optionalDependencies: z.record(z.string(), z.string()).optional(),
})
type LockedPackage = z.infer<typeof LockedPackage>
const Lock = z.object({ packages: z.record(z.string(), LockedPackage) })

/** Packages whose data is compiled into `dist/data`. */
const DATA_PACKAGES = ['@ip-location-db/geo-whois-asn-country', '@ip-location-db/asn', 'dejavu-fonts-ttf']

/**
 * Writes the list of every package that a user of readership runs: those that npm installs beside it, and those that are
 * copied into its bundles (CycloneDX 1.6). It has no time and no random number, so that two builds have the same bytes.
 */
export function writeSbom(target: string): void {
  const { packages } = Lock.parse(JSON.parse(readFileSync('package-lock.json', 'utf8')))
  const root = packages['']
  if (root === undefined) throw new Error('package-lock.json has no entry for readership itself.')
  const bom = new Models.Bom()
  const application = component('readership', root, 'application')
  bom.metadata.component = application
  const installed = new Map(
    Object.entries(packages)
      .filter(([path, { dev, peer }]) => path !== '' && !dev && !peer)
      .map(([path, one]) => [path, component(nameOf(path), one, 'installed')]),
  )
  for (const [path, one] of installed) link(one, path, packages[path], installed)
  link(application, '', root, installed)
  for (const one of installed.values()) bom.components.add(one)
  for (const { name, version } of bundledPackages()) {
    const path = Object.keys(packages).find((path) => nameOf(path) === name && packages[path]?.version === version)
    const locked = path === undefined ? undefined : packages[path]
    if (locked === undefined) throw new Error(`package-lock.json has no ${name} ${version}, which a bundle contains.`)
    // A package that is also installed stands in the list once.
    if (path !== undefined && installed.has(path)) continue
    const one = component(name, locked, 'bundled')
    bom.components.add(one)
    application.dependencies.add(one.bomRef)
  }
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6))
  writeFileSync(target, `${serializer.serialize(bom, { sortLists: true, space: 1 })}\n`)
}

const nameOf = (path: string): string => path.replace(/^.*node_modules\//, '')

/** The packages that the bundles and data files contain, as their lists of licences name them. */
function bundledPackages(): { name: string; version: string }[] {
  const lists = ['dist', 'dist/dashboard', 'dist/docs'].map((folder) => readFileSync(`${folder}/LICENSES.txt`, 'utf8'))
  const named = [...lists.join('\n').matchAll(/^(\S+) (\d\S*) \([^)\n]+\)$/gm)].map(
    ([, name = '', version = '']) => `${name} ${version}`,
  )
  const data = DATA_PACKAGES.map((name) => {
    const { version } = LockedPackage.parse(JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8')))
    return `${name} ${version}`
  })
  return [...new Set([...named, ...data])].map((line) => {
    const [name = '', version = ''] = line.split(' ')
    return { name, version }
  })
}

/** Licences of packages that state them in a file only. */
const STATED_LICENCES: Readonly<Record<string, string>> = { 'png-js': 'MIT' }

function component(full: string, locked: LockedPackage, delivery: 'application' | 'installed' | 'bundled') {
  const [name = full, group] = full.split('/').toReversed()
  const purl = `pkg:npm/${full.replace('@', '%40')}@${locked.version}`
  const type = delivery === 'application' ? Enums.ComponentType.Application : Enums.ComponentType.Library
  const one = new Models.Component(type, name, { version: locked.version, bomRef: purl, purl })
  if (group !== undefined) one.group = group
  if (delivery !== 'application') {
    one.scope = locked.optional ? Enums.ComponentScope.Optional : Enums.ComponentScope.Required
    one.properties.add(new Models.Property('readership:delivery', delivery))
  }
  const licence = locked.license ?? STATED_LICENCES[full]
  if (licence !== undefined)
    one.licenses.add(
      / (OR|AND|WITH) /.test(licence) ? new Models.LicenseExpression(licence) : new Models.SpdxLicense(licence),
    )
  const [algorithm, hash = ''] = locked.integrity?.split('-') ?? []
  if (algorithm === 'sha512')
    one.hashes.set(Enums.HashAlgorithm['SHA-512'], Buffer.from(hash, 'base64').toString('hex'))
  return one
}

/** Names what a package needs: of several versions, the one that Node finds from its place. */
function link(
  one: Models.Component,
  path: string,
  locked: LockedPackage | undefined,
  installed: ReadonlyMap<string, Models.Component>,
): void {
  for (const name of Object.keys({ ...locked?.dependencies, ...locked?.optionalDependencies })) {
    const places = [`${path}/node_modules/${name}`, `node_modules/${name}`]
    const needed = places.map((place) => installed.get(place)).find((found) => found !== undefined)
    if (needed !== undefined) one.dependencies.add(needed.bomRef)
  }
}
