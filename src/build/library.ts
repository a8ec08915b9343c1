import { cpSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/** The modules that the package exports, by the name of their file in `dist/lib`. */
export const PUBLISHED_MODULES = {
  index: 'src/index',
  express: 'adapters/express',
  node: 'adapters/node',
  hono: 'adapters/hono',
  web: 'src/web',
  client: 'src/client',
  tracker: 'src/browser/tracker/index',
}

/**
 * Copies the declarations of the published modules to `dist/types`, with those that they import and no others: a project
 * then installs 25 of 600 files. Throws if one imports a package other than those of `allowed`, whose types it would lack.
 */
export function copyTypes(allowed: readonly string[]): void {
  rmSync('dist/types', { recursive: true, force: true })
  const seen = new Set<string>()
  const copy = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    cpSync(file, join('dist/types', relative('dist', file)))
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(/\b(?:from|import\()\s*'([^']+)'/g))
      if (name.startsWith('.')) copy(resolve(dirname(file), name.replace(/\.js$/, '.d.ts')))
      else if (!name.startsWith('node:') && !allowed.includes(name))
        throw new Error(`${relative('.', file)} imports the types of ${name}, which the package does not depend on.`)
  }
  for (const name of Object.values(PUBLISHED_MODULES)) copy(resolve('dist', `${name}.d.ts`))
}
