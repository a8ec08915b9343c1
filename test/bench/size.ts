import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { RELATIVE_START } from '../fixtures/prose.js'
import {
  importCycles,
  listFiles,
  productionImporters,
  ROOTS,
  type Survey,
  surveySource,
  unusedExports,
} from '../fixtures/source-survey.js'
import { boxOf, measurePlan } from './plan.js'

/** `npm run bench -- size [checkout]`: the measures of the source by which two commits are compared; lists come last. */
export async function run([checkout = '.']: string[]): Promise<void> {
  const survey = surveySource(checkout)
  const unused = unusedExports(survey)
  const inSource = unused.filter(({ path }) => !path.startsWith('test/'))
  const withoutImporter = unused.filter(({ onlyTests }) => !onlyTests)
  const onlyTests = unused.filter(({ onlyTests }) => onlyTests)
  const fileCycles = importCycles(survey)
  const valueCycles = importCycles(survey, { types: false })
  const plan = measurePlan(survey)
  const long = longFunctions(survey)
  const small = smallFiles(survey)
  const isTest = ({ path }: { path: string }) => path.startsWith('test/')

  console.table(linesByFolder(survey))
  const files = [...survey.values()].filter(({ path }) => path.startsWith('src/')).sort((a, b) => a.lines - b.lines)
  const largest = files.at(-1)
  console.table({
    'boxes on the plan': plan.boxes,
    'arrows between them': plan.arrows,
    floors: plan.floors,
    'circles, types included': plan.circles.length,
    'src, lines of TypeScript': files.reduce((sum, { lines }) => sum + lines, 0),
    'src, files': files.length,
    'src, median file': files[files.length >> 1]?.lines ?? 0,
    'src, largest file': `${largest?.lines} ${largest?.path}`,
    'functions over 80 lines, without tests': long.filter((one) => !isTest(one)).length,
    'functions over 80 lines, tests': long.filter(isTest).length,
    'exports without importer, src': withoutImporter.filter(({ path }) => path.startsWith('src/')).length,
    'exports without importer, everywhere': withoutImporter.length,
    'exports that only tests import': onlyTests.length,
    'file cycles': fileCycles.length,
    'file cycles without type-only imports': valueCycles.length,
    'files under 40 lines with one importer': small.length,
    'comments, src': describeComments(survey, 'src/'),
    'comments, everywhere': describeComments(survey, ''),
  })
  const pages = readmes(checkout)
  console.log(`bytes of READMEs: ${Object.values(pages).reduce((sum, { bytes }) => sum + bytes, 0)}`)
  console.table(pages)
  list(
    'Functions over 80 lines',
    long.map(({ path, line, name, lines }) => `${path}:${line} ${name} ${lines}`),
  )
  list(
    'File cycles',
    fileCycles.map((files) => files.join(' ↔ ')),
  )
  list(
    'Circles of boxes',
    plan.circles.map((folders) => folders.join(' ↔ ')),
  )
  list('Files under 40 lines with one importer', small)
  list(
    'Exports without importer',
    withoutImporter.map(({ path, line, name }) => `${path}:${line} ${name}`),
  )
  list(
    'Exports that only tests import',
    inSource.filter(({ onlyTests }) => onlyTests).map(({ path, line, name }) => `${path}:${line} ${name}`),
  )
}

function linesByFolder(survey: Survey) {
  const rows: Record<string, { files: number; lines: number; largest: number }> = {}
  for (const { path, lines } of survey.values()) {
    const folder = boxOf(path).replace(/^src\/[^/]*\.ts$/, 'src (top)')
    const { files, lines: sum, largest } = rows[folder] ?? { files: 0, lines: 0, largest: 0 }
    rows[folder] = { files: files + 1, lines: sum + lines, largest: Math.max(largest, lines) }
  }
  const order = (folder: string) => ROOTS.findIndex((root) => folder.startsWith(root))
  return Object.fromEntries(Object.entries(rows).sort(([a], [b]) => order(a) - order(b) || (a < b ? -1 : 1)))
}

const longFunctions = (survey: Survey) =>
  [...survey.values()]
    .flatMap(({ path, functions }) => functions.map((one) => ({ path, ...one })))
    .sort((a, b) => b.lines - a.lines)

function describeComments(survey: Survey, prefix: string): string {
  const files = [...survey.values()].filter(({ path }) => path.startsWith(prefix))
  const comments = files.flatMap(({ texts }) => texts.filter(({ kind }) => kind === 'comment'))
  const relative = comments.filter(({ text }) => RELATIVE_START.test(text)).length
  const share = ((100 * relative) / comments.length).toFixed(1)
  return `${comments.length}, of which ${relative} (${share} %) begin with a relative pronoun`
}

/** Files of src that could join their only importer. */
function smallFiles(survey: Survey): string[] {
  const importers = productionImporters(survey)
  return [...survey.values()].flatMap(({ path, lines, isProgram }) => {
    const [importer, ...others] = importers.get(path) ?? []
    if (!path.startsWith('src/') || isProgram || lines >= 40 || importer === undefined || others.length > 0) return []
    return [`${path} ${lines} → ${importer}`]
  })
}

const readmes = (checkout: string) =>
  Object.fromEntries(
    listFiles(checkout, '.', 'README.md').map((path) => {
      const text = readFileSync(join(checkout, path), 'utf8')
      return [
        path,
        { bytes: Buffer.byteLength(text), 'longest line': Math.max(...text.split('\n').map((l) => l.length)) },
      ]
    }),
  )

function list(title: string, lines: readonly string[]): void {
  console.log(`\n${title}: ${lines.length}`)
  for (const line of lines) console.log(`  ${line}`)
}
