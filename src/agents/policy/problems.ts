/** Something in a file that its author may want to correct. */
export interface FileProblem {
  /** From 1; absent if the problem concerns the whole file. */
  line?: number
  problem: string
}

const MAX_PROBLEMS = 100

/** Creates a list of problems and a function that adds to it, up to `MAX_PROBLEMS`. */
export function createProblemList() {
  const problems: FileProblem[] = []
  const report = (problem: string, line?: number) => {
    if (problems.length === MAX_PROBLEMS) problems.push({ problem: 'more problems, not listed' })
    if (problems.length < MAX_PROBLEMS) problems.push({ ...(line !== undefined && { line }), problem })
  }
  return { problems, report }
}
