import { listFiles, whenChanged } from '../files.js'
import { listPages, SCRIPTS, TARGET, TOKENS } from './chapters.js'

/** Writes the documentation site into `dist/docs`, unless its sources are those of the last build. */
export function buildDocs(): Promise<void> {
  const pages = listPages()
  const sources = [
    ...pages.map(({ file }) => file),
    ...[SCRIPTS, 'src/build/docs'].flatMap(listFiles),
    ...[TOKENS, 'package.json', 'package-lock.json'],
  ]
  return whenChanged(`${TARGET}/.sources`, sources, async () => {
    // Loaded only when there is something to write: marked and MiniSearch take longer to load than the check.
    const { writeSite } = await import('./site.js')
    await writeSite(pages)
  })
}
