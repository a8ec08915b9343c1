import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { z } from 'zod'

/** The progress of deliveries, by row numbers. */
const Progress = z.object({
  /** The sender id of the last delivery, 16 hex digits. */
  sender: z.string().regex(/^[0-9a-f]{16}$/),
  /** Rows up to this number need no delivery any more. */
  settled: z.int().min(0),
  /** The last row of the delivery in progress. It may have arrived, so it is only ever repeated unchanged. */
  sending: z.int().min(0),
})
export type Progress = z.infer<typeof Progress>

const SLOT_BYTES = 256
const Slot = Progress.extend({ turn: z.int() })

/** Opens the file of two slots, written alternately in place: a torn write leaves the other, and a full disk has room. */
export async function openProgress(path: string) {
  const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SLOT_BYTES * 2), 0, SLOT_BYTES * 2, 0)
    const slots = [0, SLOT_BYTES]
      .map((at) => parseSlot(buffer.toString('latin1', at, at + SLOT_BYTES)))
      .flatMap((slot) => slot ?? [])
      .sort((a, b) => b.turn - a.turn)
    const [latest] = slots
    let turn = latest?.turn ?? 0
    const stored: Progress | 'damaged' | undefined = latest ?? (bytesRead === 0 ? undefined : 'damaged')
    return {
      /** The progress on disk: undefined if there was no file, `damaged` if it cannot be read. */
      stored,
      /** Resolves when the progress is on disk. */
      async save({ sender, settled, sending }: Progress): Promise<void> {
        turn += 1
        await writeSlot(file, (turn % 2) * SLOT_BYTES, formatSlot({ sender, settled, sending, turn }))
        await file.datasync()
      },
      close: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

async function writeSlot(file: FileHandle, at: number, text: string): Promise<void> {
  const { bytesWritten } = await file.write(Buffer.from(text, 'latin1'), 0, SLOT_BYTES, at)
  if (bytesWritten !== SLOT_BYTES) throw new Error('the progress of deliveries was written only in part')
}

function formatSlot(slot: z.infer<typeof Slot>): string {
  const json = JSON.stringify(slot)
  return `${crc32(json).toString(16).padStart(8, '0')} ${json}`.padEnd(SLOT_BYTES - 1).concat('\n')
}

function parseSlot(text: string): z.infer<typeof Slot> | undefined {
  const json = text.slice(9).trimEnd()
  if (crc32(json).toString(16).padStart(8, '0') !== text.slice(0, 8)) return undefined
  try {
    return Slot.safeParse(JSON.parse(json)).data
  } catch {
    return undefined
  }
}
