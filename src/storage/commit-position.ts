import { z } from 'zod'
import { DROP_REASONS, type DropCounts } from './drops.js'

/** How far a run (one life of the site's process) has come. Each commit stores it in the transaction of its rows. */
export interface CommitPosition {
  /** 16 hex digits, random for each run. */
  run: string
  /** The number of the last batch in the commit; batches are numbered from 1 and committed in order. */
  sequence: number
  /** Rows committed and observations dropped since the run began. */
  human: number
  agent: number
  drops: DropCounts
}

const CommitPosition = z.object({
  run: z.string().regex(/^[0-9a-f]{16}$/),
  sequence: z.int(),
  human: z.int(),
  agent: z.int(),
  // Stored positions may name a reason that is not used any more.
  drops: z.partialRecord(z.enum([...DROP_REASONS, 'no_session']), z.int()),
})

/** `inspectWal` finds a position in a damaged log by this order of fields. */
export const formatCommitPosition = ({ run, sequence, human, agent, drops }: CommitPosition): string =>
  JSON.stringify({ run, sequence, human, agent, drops })

/** Throws if `text` is not a position. Absent drop reasons are left out, as `exactOptionalPropertyTypes` requires. */
export function parseCommitPosition(text: string): CommitPosition {
  const { drops, ...position } = CommitPosition.parse(JSON.parse(text))
  const present: DropCounts = {}
  for (const reason of DROP_REASONS) if (drops[reason] !== undefined) present[reason] = drops[reason]
  return { ...position, drops: present }
}
