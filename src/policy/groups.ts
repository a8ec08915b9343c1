/** A `Content-Usage` record (AIPREF): preferences for a path, kept as written. */
export interface ContentUsage {
  pattern: string
  preferences: Readonly<Record<string, string>>
  line: number
}

/** Something in the file that its author may want to mend. */
export interface RobotsProblem {
  line?: number
  problem: string
}
