import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'rolldown'
import { z } from 'zod'

const Package = z.object({ name: z.string(), version: z.string(), license: z.string() })

/** Adds a file to a bundle with the licences of the packages that are copied into it, as these licences ask for. */
export function listLicences(fileName: string): Plugin {
  return {
    name: 'list-licences',
    generateBundle(_, bundle) {
      const folders = new Set<string>()
      for (const chunk of Object.values(bundle))
        for (const id of chunk.type === 'chunk' ? chunk.moduleIds : []) {
          const [folder] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? []
          if (folder !== undefined) folders.add(folder)
        }
      const source = [...folders].map(describe).sort().join('\n\n')
      this.emitFile({ type: 'asset', fileName, source: `Packages that are copied into this bundle:\n\n${source}\n` })
    },
  }
}

function describe(folder: string): string {
  const { name, version, license } = Package.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')))
  const file = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file))
  const text = file === undefined ? '' : `\n\n${readFileSync(join(folder, file), 'utf8').trim()}`
  return `${name} ${version} (${license})${text}`
}
