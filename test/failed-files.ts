import { readdirSync, readFileSync } from 'node:fs'

/**
 * Names the files of tests that failed in a run of `npm test`, for `.ci/run`, which runs each once more, alone. Called with
 * the path of the run's TAP output, it prints one compiled file a line.
 */

const END_OF_FILE = /^ {4}ok \d+ - end of (\S+)/
const PROGRAM_STARTS = /^# Subtest: (dist\/test\/groups\/\S+)$/
/** The other lines of this kind are the runner's own, such as `not ok 88 - timeout!`, and blame no program. */
const PROGRAM_FAILED = /^not ok \d+ - dist\/test\/groups\//

/**
 * Returns the files of failed tests in the order of `log`, the TAP output of a run, as paths from the root. `filesOf` returns
 * the files that a program of `dist/test/groups` imports, in their order. A program that ended early also gives the files
 * that had no turn, and one of `programs` that never began gives all of its files.
 */
export function failedFiles(
  log: string,
  filesOf: (program: string) => readonly string[],
  programs: readonly string[] = [],
): string[] {
  const failed = new Set<string>()
  const neverBegan = new Set(programs)
  let program: readonly string[] = []
  let waiting: string[] = []
  let allPassed = true
  for (const line of log.split('\n')) {
    const started = PROGRAM_STARTS.exec(line)?.[1]
    if (started !== undefined) {
      neverBegan.delete(started)
      program = filesOf(started)
      waiting = [...program]
      allPassed = true
    } else if (line.startsWith('    not ok ')) {
      allPassed = false
      if (waiting[0] !== undefined) failed.add(waiting[0])
    } else if (END_OF_FILE.test(line)) waiting.shift()
    else if (PROGRAM_FAILED.test(line)) {
      // A program that failed with all of its tests passed may have any of its files to blame.
      for (const file of allPassed && waiting.length === 0 ? program : waiting) failed.add(file)
    }
  }
  for (const file of [...neverBegan].flatMap(filesOf)) failed.add(file)
  return [...failed]
}

/** Returns the files that a program written by `write-groups.ts` imports, as paths from the root. */
function importsOf(program: string): string[] {
  return [...readFileSync(program, 'utf8').matchAll(/import\(?\s*'\.\.\/(.+?)'/g)].map(
    (match) => `dist/test/${match[1]}`,
  )
}

const log = process.argv[2]
if (import.meta.filename === process.argv[1] && log !== undefined) {
  const programs = readdirSync('dist/test/groups').map((name) => `dist/test/groups/${name}`)
  for (const file of failedFiles(readFileSync(log, 'utf8'), importsOf, programs)) console.log(file)
}
