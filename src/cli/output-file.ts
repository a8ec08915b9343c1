import { open, rename, rm, stat } from 'node:fs/promises'
import { escapeText } from './escape.js'
import { Failure, type Terminal } from './terminal.js'

/**
 * Writes what comes to a file that is whole or not there: under another name first, renamed at its end. A pipe or a
 * device is written as it is. Throws `Failure` naming the file; what failed leaves what was there before.
 */
export async function writeOutputFile(file: string, parts: AsyncIterable<Uint8Array>): Promise<number> {
  const special = await stat(file).then(
    (found) => !found.isFile() && !found.isDirectory(),
    () => false,
  )
  const part = special ? file : `${file}.part`
  let written = 0
  try {
    const handle = await open(part, 'w')
    try {
      for await (const bytes of parts) {
        await handle.writeFile(bytes)
        written += bytes.length
      }
      if (!special) await handle.sync()
    } finally {
      await handle.close()
    }
    if (!special) await rename(part, file)
    return written
  } catch (error) {
    if (!special) await rm(part, { force: true }).catch(() => {})
    if (error instanceof Failure) throw error
    throw new Failure(`${file} was not written: ${error instanceof Error ? error.message : String(error)}.`, 1, {
      cause: error,
    })
  }
}

/** The same to the output, as fast as it is taken: made visible where a person looks, as it is where a program does. */
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
