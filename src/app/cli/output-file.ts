import { open, rename, rm, stat } from 'node:fs/promises'
import { z } from 'zod'
import { flag } from './command.js'
import { escapeText } from './escape.js'
import { Failure, type Terminal } from './terminal.js'

/**
 * Writes a file completely or not at all: as `FILE.part`, renamed at the end. Writes a pipe or device directly. Throws
 * `Failure` that names the file, and leaves the previous file unchanged.
 */
export async function writeOutputFile(file: string, parts: AsyncIterable<Uint8Array>, mode?: number): Promise<void> {
  const special = await stat(file).then(
    (found) => !found.isFile() && !found.isDirectory(),
    () => false,
  )
  const part = special ? file : `${file}.part`
  try {
    const handle = await open(part, 'w', mode)
    try {
      for await (const bytes of parts) await handle.writeFile(bytes)
      if (!special) await handle.sync()
    } finally {
      await handle.close()
    }
    if (!special) await rename(part, file)
  } catch (error) {
    if (!special) await rm(part, { force: true }).catch(() => {})
    if (error instanceof Failure) throw error
    throw new Failure(`${file} was not written: ${error instanceof Error ? error.message : String(error)}.`, 1, {
      cause: error,
    })
  }
}

/**
 * The flag of every command that writes into one file: the file's ending chooses the format.
 */
export const outputFlag = <E extends string>(formats: readonly [E, E, ...E[]], doc: string) => {
  const endings = `.${formats.slice(0, -1).join(', .')} or .${formats.at(-1)}`
  return flag(
    '--output <file>',
    `${doc}; its ending chooses the format: ${endings}`,
    z
      .string()
      .transform((file, context) => {
        const format = formats.find((one) => file.toLowerCase().endsWith(`.${one}`))
        if (format !== undefined) return { format, file }
        context.addIssue(`must end in ${endings}, which chooses the format`)
        return z.NEVER
      })
      .optional(),
  )
}

/** Returns the file of `--output` if it is of this format. */
export const fileOf = (format: string, output: { format: string; file: string } | undefined): string | undefined =>
  output?.format === format ? output.file : undefined

/** Writes to standard output at the reader's pace; escapes the text on a terminal, and leaves it unchanged in a pipe. */
export async function printOutput(terminal: Terminal, parts: AsyncIterable<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder()
  const shown = (text: string) =>
    terminal.columns === undefined
      ? text
      : text
          .split(/(\r?\n)/)
          .map((line, i) => (i % 2 === 0 ? escapeText(line) : '\n'))
          .join('')
  for await (const bytes of parts) {
    terminal.out(shown(decoder.decode(bytes, { stream: true })))
    await terminal.drained?.()
  }
  terminal.out(shown(decoder.decode()))
}
