import { createHmac, timingSafeEqual } from 'node:crypto'

/** How long a code is shown (RFC 6238 4.1). */
const PERIOD_S = 30
const DIGITS = 6
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Length of a secret: that of the hash (RFC 4226 4). */
export const SECRET_BYTES = 20

/** Encodes as RFC 4648 without padding, the form that authenticators accept. */
export function base32(bytes: Uint8Array): string {
  let text = ''
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff
    bits += 8
    for (; bits >= 5; bits -= 5) text += BASE32[(value >>> (bits - 5)) & 31]
  }
  return bits > 0 ? text + BASE32[(value << (5 - bits)) & 31] : text
}

function decodeBase32(text: string): Buffer {
  const bytes: number[] = []
  let bits = 0
  let value = 0
  for (const letter of text) {
    value = ((value << 5) | BASE32.indexOf(letter)) & 0xfff
    bits += 5
    if (bits < 8) continue
    bits -= 8
    bytes.push((value >>> bits) & 255)
  }
  return Buffer.from(bytes)
}

const stepAt = (at: Date): number => Math.floor(at.getTime() / 1_000 / PERIOD_S)

/** Returns the code of a secret (base32) at a time step (RFC 6238 4.2, RFC 4226 5.3). */
export function codeAtStep(secret: string, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', decodeBase32(secret)).update(counter).digest()
  const truncated = mac.readUInt32BE((mac.at(-1) ?? 0) & 15) & 0x7fff_ffff
  return String(truncated % 10 ** DIGITS).padStart(DIGITS, '0')
}

/**
 * Returns the time step of a code that is valid at `at`, one step early or late to allow for clock differences. Returns
 * undefined for a wrong code and for one of the step `last`, which was accepted before, or earlier (RFC 6238 5.2).
 */
export function findStep(secret: string, code: string, at: Date, last: number | null): number | undefined {
  const now = stepAt(at)
  return [now - 1, now, now + 1].find(
    (step) =>
      step > (last ?? -1) &&
      code.length === DIGITS &&
      timingSafeEqual(
        Buffer.from(codeAtStep(secret, step)),
        Buffer.from(code.padEnd(DIGITS).slice(0, DIGITS), 'latin1'),
      ),
  )
}

/** Returns the text of the QR code that an authenticator scans. */
export const totpUri = (secret: string, email: string, issuer: string): string =>
  `otpauth://totp/${encodeURIComponent(issuer)}:${encodeURIComponent(email)}?secret=${secret}&issuer=${encodeURIComponent(issuer)}&algorithm=SHA1&digits=${DIGITS}&period=${PERIOD_S}`
