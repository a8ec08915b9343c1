import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { z } from 'zod'

/** How far the deliveries are, by rows' numbers. */
const Progress = z.object({
  /** Under which the last delivery went, 16 hex digits. */
  sender: z.string().regex(/^[0-9a-f]{16}$/),
  /** Rows up to this one need no delivery any more. */
  settled: z.int().min(0),
  /** The last row of the delivery under way: it may be there, and is only ever sent as the same rows under the same number. */
  sending: z.int().min(0),
})
export type Progress = z.infer<typeof Progress>

export interface ProgressFile {
  /** As it was found; undefined where there was none, `damaged` where there was one that cannot be read. */
  readonly found: Progress | 'damaged' | undefined
  /** On the disk when it resolves. */
  save(progress: Progress): Promise<void>
  close(): Promise<void>
}

const SLOT = 256
const Slot = Progress.extend({ turn: z.int() })

/** Two slots, written in turn and in place: a write that is cut off leaves the other, and a full disk has room for both. */
export async function openProgress(path: string): Promise<ProgressFile> {
  const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SLOT * 2), 0, SLOT * 2, 0)
    const slots = [0, SLOT]
      .map((at) => slotOf(buffer.toString('latin1', at, at + SLOT)))
      .flatMap((slot) => slot ?? [])
      .sort((a, b) => b.turn - a.turn)
    const [latest] = slots
    let turn = latest?.turn ?? 0
    const write = async (progress: Progress) => {
      turn += 1
      await put(file, (turn % 2) * SLOT, textOf({ ...progress, turn }))
      await file.datasync()
    }
    return {
      found: latest ?? (bytesRead === 0 ? undefined : 'damaged'),
      async save({ sender, settled, sending }) {
        await write({ sender, settled, sending })
      },
      close: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

async function put(file: FileHandle, at: number, text: string): Promise<void> {
  const { bytesWritten } = await file.write(Buffer.from(text, 'latin1'), 0, SLOT, at)
  if (bytesWritten !== SLOT) throw new Error('the state of the deliveries was written in part only')
}

function textOf(slot: z.infer<typeof Slot>): string {
  const json = JSON.stringify(slot)
  return `${crc32(json).toString(16).padStart(8, '0')} ${json}`.padEnd(SLOT - 1).concat('\n')
}

function slotOf(text: string): z.infer<typeof Slot> | undefined {
  const json = text.slice(9).trimEnd()
  if (crc32(json).toString(16).padStart(8, '0') !== text.slice(0, 8)) return undefined
  try {
    return Slot.safeParse(JSON.parse(json)).data
  } catch {
    return undefined
  }
}
