import { z } from 'zod'
import { DROP_REASONS, type DropCounts } from '../capture/drops.js'

/** How far a run (one life of the process) had come with a commit: stored with the rows, in their transaction. */
export interface CommitPosition {
  /** 16 hex digits, new for each run. */
  run: string
  /** Of the last batch in the commit; batches are numbered from 1 and committed in order. */
  sequence: number
  /** Rows committed since the run began, and observations dropped. */
  human: number
  agent: number
  drops: DropCounts
}

const Mark = z.object({
  run: z.string().regex(/^[0-9a-f]{16}$/),
  sequence: z.int(),
  human: z.int(),
  agent: z.int(),
  drops: z.partialRecord(z.enum(DROP_REASONS), z.int()),
})

/** In this order of fields, by which `inspectWal` finds it in a damaged log. */
export const formatCommitPosition = ({ run, sequence, human, agent, drops }: CommitPosition): string =>
  JSON.stringify({ run, sequence, human, agent, drops })

/** Zod reads an absent reason as absent: `exactOptionalPropertyTypes` wants it so said. */
export function parseCommitPosition(text: string): CommitPosition {
  const { drops, ...mark } = Mark.parse(JSON.parse(text))
  const present: DropCounts = {}
  for (const reason of DROP_REASONS) if (drops[reason] !== undefined) present[reason] = drops[reason]
  return { ...mark, drops: present }
}
