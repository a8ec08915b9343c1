import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { z } from 'zod'
import { thumbprint } from '../../agents/signature/keys.js'
import { EvidenceDocument } from './document.js'

/*
 * A folder is a JSON file of two members: `document`, and `signature`, a detached JWS of the bytes of `document` as they
 * stand in the file (RFC 7515, appendix F; EdDSA of RFC 8037). Nothing is brought into a canonical form first, and a file that
 * was formatted again is a changed file.
 */
const START = '{\n"document": '
const END = /,\n"signature": "([\w-]+)\.\.([\w-]+)"\n\}\n$/

const EvidenceKey = z.object({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string().regex(/^[\w-]{43}$/) })
type EvidenceKey = z.infer<typeof EvidenceKey>
const Header = z.strictObject({
  alg: z.literal('EdDSA'),
  typ: z.literal('readership-evidence'),
  kid: z.string(),
  jwk: EvidenceKey.strict(),
})

/** Explains in one sentence why a file is not the folder that was signed. */
export class EvidenceFault extends Error {}

export interface SignedEvidence {
  document: EvidenceDocument
  /** SHA-256 of the bytes of the document, hex. */
  sha256: string
  /** The fingerprint of the key that signed: its RFC 7638 thumbprint. */
  fingerprint: string
  /** base64url. */
  signature: string
}

/** Returns the public half of a key as a JSON Web Key (RFC 8037), with its thumbprint as `kid`. */
export function publicKeyOf(key: KeyObject): EvidenceKey & { kid: string; use: 'sig'; alg: 'EdDSA' } {
  const jwk = EvidenceKey.parse(createPublicKey(key).export({ format: 'jwk' }))
  return { ...jwk, kid: thumbprint(jwk), use: 'sig', alg: 'EdDSA' }
}

/** Parses JSON of untrusted origin; throws `EvidenceFault` with `message` if it has not this shape. */
function readJson<T extends z.ZodType>(shape: T, text: string, message: string): z.output<T> {
  try {
    return shape.parse(JSON.parse(text))
  } catch (cause) {
    throw new EvidenceFault(message, { cause })
  }
}

/** Returns the fingerprint of a public key, the text of a JSON Web Key. */
export const readFingerprint = (jwk: string): string =>
  thumbprint(readJson(EvidenceKey, jwk, 'The file of the key is not an Ed25519 key as JSON Web Key.'))

/** Writes a document into a signed file. */
export function signEvidence(document: EvidenceDocument, key: KeyObject): { text: string; sha256: string } {
  const { kid, kty, crv, x } = publicKeyOf(key)
  const header: z.input<typeof Header> = { alg: 'EdDSA', typ: 'readership-evidence', kid, jwk: { kty, crv, x } }
  const bytes = Buffer.from(JSON.stringify(document, null, 1))
  const head = base64url(JSON.stringify(header))
  const signature = sign(null, Buffer.from(`${head}.${base64url(bytes)}`), key).toString('base64url')
  return { text: `${START}${bytes}${`,\n"signature": "${head}..${signature}"\n}\n`}`, sha256: sha256Of(bytes) }
}

/** Checks a file against its signature, and its key against `fingerprint` if that is given. Throws `EvidenceFault`. */
export function readEvidence(file: Uint8Array, fingerprint?: string): SignedEvidence {
  // One character for each byte, so that positions in the text are positions in the file.
  const text = Buffer.from(file).toString('latin1')
  const end = END.exec(text)
  if (!text.startsWith(START) || end === null)
    throw new EvidenceFault('This is not a folder of readership, or its beginning or end is damaged or missing.')
  const [, head = '', signature = ''] = end
  const bytes = Buffer.from(text.slice(START.length, end.index), 'latin1')
  const header = readJson(Header, Buffer.from(head, 'base64url').toString(), 'The header of the signature is damaged.')
  if (header.kid !== thumbprint(header.jwk))
    throw new EvidenceFault('The key in the file is not the one that it names.')
  if (fingerprint !== undefined && header.kid !== fingerprint)
    throw new EvidenceFault(`The folder is signed by the key ${header.kid}, and not by ${fingerprint}.`)
  const signed = Buffer.from(signature, 'base64url')
  const key = createPublicKey({ key: header.jwk, format: 'jwk' })
  const isSigned = verify(null, Buffer.from(`${head}.${base64url(bytes)}`), key, signed)
  // Other last letters can stand for the same signature.
  if (!isSigned || base64url(signed) !== signature)
    throw new EvidenceFault('The signature does not fit the document: the file was changed after it was signed.')
  const document = readJson(
    EvidenceDocument,
    bytes.toString(),
    'The document is signed, but this version cannot read its format.',
  )
  return { document, sha256: sha256Of(bytes), fingerprint: header.kid, signature }
}

const base64url = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString('base64url')
export const sha256Of = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')
