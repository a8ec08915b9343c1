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
import { Failure } from './terminal.js'

const Agent = z
  .string('is missing: write the ID of an agent, such as --agent gptbot; readership agents lists them')
  .min(1)
  .toLowerCase()

export const evidence = defineCommand({
  name: 'evidence',
  summary: "write a signed folder of evidence about an agent's fetches",
  flags: z.object({
    agent: flag('--agent <id>', 'the agent, by its ID as agents lists it', Agent),
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
    const { document, fingerprint } = readEvidence(Buffer.concat(chunks))
    const parts = (async function* () {
      yield* chunks
    })()
    await (output === '-' ? printOutput(terminal, parts) : writeOutputFile(output, parts, 0o600))
    const name = output === '-' ? 'A folder' : escapeText(output)
    terminal.err(`${name}: ${document.counts.fetches} fetches, signed by the key ${fingerprint}.\n`)
  },
})

export const evidenceVerify = defineCommand({
  name: 'evidence verify',
  summary: 'check a folder of evidence; needs no instance and no network',
  arguments: [{ syntax: '<file>', doc: 'the JSON file that evidence wrote' }],
  flags: z.object({
    key: flag(
      '--key <key>',
      'the public key of the instance, as /api/evidence/key serves it: a file, or its fingerprint',
      z.string().min(1).optional(),
    ),
  }),
  async run({ args: [path = ''], flags: { key }, terminal }) {
    const file = await readNamed(path)
    try {
      const named = key === undefined || FINGERPRINT.test(key) ? key : readFingerprint(`${await readNamed(key)}`)
      terminal.out(`${describeVerified(readEvidence(file, named), named !== undefined).join('\n')}\n`)
    } catch (error) {
      if (error instanceof EvidenceFault) throw new Failure(`Not verified. ${error.message}`, 1, { cause: error })
      throw error
    }
  },
})

const FINGERPRINT = /^[\w-]{43}$/

const readNamed = (path: string): Promise<Buffer> =>
  readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new Failure(`${path} cannot be read: ${error.code ?? error.message}.`)
  })

/** Says what was checked. Throws `EvidenceFault` if the document contradicts itself. */
function describeVerified({ document, sha256, fingerprint }: SignedEvidence, isNamed: boolean): string[] {
  const { counts, fetches, robots_txt, statements, limits } = document
  const isWhole = counts.left_out === 0
  if (fetches.length + counts.left_out !== counts.fetches)
    throw new EvidenceFault('The folder lists another number of fetches than it states.')
  if (isWhole && sha256Of(fetches.map((fetch) => `${JSON.stringify(fetch)}\n`).join('')) !== counts.rows_sha256)
    throw new EvidenceFault('The digest over all fetches is not that of the fetches in the folder.')
  const texts = robots_txt.filter(({ is_exact }) => is_exact)
  if (texts.some((one) => sha256Of(one.text ?? '') !== one.sha256))
    throw new EvidenceFault('A text of robots.txt does not have the digest that the folder states.')
  return [
    'Verified.',
    `The document is byte for byte the one that was signed; its SHA-256 is ${sha256}.`,
    isNamed
      ? `The key with the fingerprint ${fingerprint} signed it, which is the key that you named.`
      : `The key with the fingerprint ${fingerprint} signed it. That key came with the file: compare it with the one that the instance serves at /api/evidence/key, or name it with --key.`,
    isWhole
      ? `The digest over the ${counts.fetches} fetches is right.`
      : `Of ${counts.fetches} fetches ${fetches.length} are listed, so the digest over all of them was not computed again.`,
    `Texts of robots.txt that have their stated SHA-256: ${texts.length} of ${robots_txt.length}.`,
    ...['', 'The folder states:', ...statements.map((text) => `- ${escapeText(text)}`)],
    ...['', 'It cannot tell:', ...limits.map((text) => `- ${escapeText(text)}`)],
  ]
}
