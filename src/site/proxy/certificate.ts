import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'

/** A certificate with its chain, and the private key that belongs to it, in PEM. */
export interface TlsCertificate {
  readonly cert: string
  readonly key: string
  /** The names that it is valid for, as the certificate writes them. */
  readonly names: string
  readonly expires: Date
}

/**
 * Reads `--tls-cert` and `--tls-key`. Throws an `Error` of one line that names the setting and the file: unreadable, not
 * PEM, a key of another certificate, a key that needs a passphrase. An expired certificate is accepted: a site with a
 * warning is better than no site.
 */
export async function readCertificate(certFile: string, keyFile: string): Promise<TlsCertificate> {
  const cert = await readPem('tls-cert', certFile, (text) => new X509Certificate(text))
  const key = await readPem('tls-key', keyFile, createPrivateKey)
  if (!cert.parsed.checkPrivateKey(key.parsed)) {
    throw new Error(`tls-key: ${keyFile} is not the key of the certificate in ${certFile}`)
  }
  try {
    // Finds what OpenSSL refuses in a server: a key too small, a broken chain.
    createSecureContext({ cert: cert.text, key: key.text })
  } catch (error) {
    throw new Error(`tls-cert: ${certFile}: ${firstLineOf(error)}`, { cause: error })
  }
  return {
    cert: cert.text,
    key: key.text,
    names: cert.parsed.subjectAltName ?? cert.parsed.subject,
    expires: new Date(cert.parsed.validTo),
  }
}

async function readPem<T>(
  setting: string,
  file: string,
  parse: (text: string) => T,
): Promise<{ text: string; parsed: T }> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw new Error(`${setting}: cannot read ${file}: ${firstLineOf(error)}`, { cause: error })
  }
  try {
    return { text, parsed: parse(text) }
  } catch (error) {
    throw new Error(`${setting}: ${file} is not a usable PEM file: ${firstLineOf(error)}`, { cause: error })
  }
}

const firstLineOf = (error: unknown): string =>
  error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
