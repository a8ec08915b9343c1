import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import {
  EvidenceFault,
  readEvidence,
  readFingerprint,
  type SignedEvidence,
  sha256Of,
} from '../../api/evidence/signed-file.js'
import { withClient } from './client.js'
import { DEFAULT_RANGE, defineCommand, flag, idOf, RANGE_FLAG } from './command.js'
import { escapeText } from './escape.js'
import { printOutput, writeOutputFile } from './output-file.js'
import { Failure, type Terminal } from './terminal.js'

export const evidence = defineCommand({
  name: 'evidence',
  summary: "write a signed folder of evidence about an agent's fetches",
  flags: z.object({
    agent: flag('--agent <id>', 'the agent, by its ID as agents lists it', z.string().min(1).toLowerCase()),
    range: RANGE_FLAG,
    site: flag('--site <id>', 'site (default 1)', idOf('a site').default(1)),
    output: flag('--output <file>', 'file to write (default: standard output)', z.string().min(1).optional()),
  }),
  async run({ flags, config, terminal }) {
    const { range = DEFAULT_RANGE, output = '-', ...asked } = flags
    const chunks: Uint8Array[] = []
    await withClient({ config, terminal }, async (client) => {
      for await (const bytes of client.file('/api/evidence', { ...asked, range })) chunks.push(bytes)
    })
    const file = Buffer.concat(chunks)
    const { document, fingerprint } = readEvidence(file)
    const parts = async function* () {
      yield file
    }
    if (output === '-') await printOutput(terminal, parts())
    else await writeOutputFile(output, parts(), 0o600)
    const name = output === '-' ? 'A folder' : escapeText(output)
    terminal.err(`${name}: ${document.counts.fetches} fetches, signed by the key ${fingerprint}.\n`)
  },
})

const FILE = z.string().min(1)

export const evidenceVerify = defineCommand({
  name: 'evidence verify',
  summary: 'check a folder of evidence; needs no instance and no network',
  arguments: [{ syntax: '<file>', doc: 'the JSON file that evidence wrote' }],
  flags: z.object({
    key: flag('--key <file>', 'the public key of the instance, from /api/evidence/key', FILE.optional()),
    fingerprint: flag('--fingerprint <text>', 'or the fingerprint of that key', FILE.optional()),
  }),
  async run({ args: [path = ''], flags, terminal }) {
    const file = await readNamed(path)
    try {
      const named = flags.key === undefined ? undefined : readFingerprint((await readNamed(flags.key)).toString())
      const signed = readEvidence(file, flags.fingerprint ?? named)
      if (named !== undefined) readEvidence(file, named)
      printVerified(signed, terminal, flags.fingerprint !== undefined || named !== undefined)
    } catch (error) {
      if (error instanceof EvidenceFault) throw new Failure(`Not verified. ${error.message}`, 1, { cause: error })
      throw error
    }
  },
})

const readNamed = (path: string): Promise<Buffer> =>
  readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new Failure(`${path} cannot be read: ${error.code ?? error.message}.`)
  })

/** Says what was checked. Throws `EvidenceFault` if the document contradicts itself. */
function printVerified({ document, sha256, fingerprint }: SignedEvidence, terminal: Terminal, isNamed: boolean): void {
  const { counts, fetches, robots_txt, statements, limits } = document
  const isWhole = counts.left_out === 0
  if (fetches.length !== counts.listed || counts.listed + counts.left_out !== counts.fetches)
    throw new EvidenceFault('The folder lists another number of fetches than it states.')
  if (isWhole && sha256Of(fetches.map((fetch) => `${JSON.stringify(fetch)}\n`).join('')) !== counts.rows_sha256)
    throw new EvidenceFault('The digest over all fetches is not that of the fetches in the folder.')
  const texts = robots_txt.filter(({ is_exact }) => is_exact)
  if (texts.some((one) => sha256Of(one.text ?? '') !== one.sha256))
    throw new EvidenceFault('A text of robots.txt does not have the digest that the folder states.')
  const lines = [
    'Verified.',
    `The document is byte for byte the one that was signed; its SHA-256 is ${sha256}.`,
    isNamed
      ? `The key with the fingerprint ${fingerprint} signed it, which is the key that you named.`
      : `The key with the fingerprint ${fingerprint} signed it. That key came with the file: compare it with the one that the instance serves at /api/evidence/key, or name it with --key or --fingerprint.`,
    isWhole
      ? `The digest over the ${counts.fetches} fetches is right.`
      : `Of ${counts.fetches} fetches ${counts.listed} are listed, so the digest over all of them was not computed again.`,
    `Texts of robots.txt that have their stated SHA-256: ${texts.length} of ${robots_txt.length}.`,
  ]
  const list = (title: string, items: readonly string[]) => ['', title, ...items.map((text) => `- ${escapeText(text)}`)]
  const said = [...lines, ...list('The folder states:', statements), ...list('It cannot tell:', limits)]
  terminal.out(`${said.join('\n')}\n`)
}
