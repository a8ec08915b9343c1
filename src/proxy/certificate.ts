import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'

/** A certificate with its chain and the key that belongs to it, PEM, checked against each other. */
export interface TlsCertificate {
  readonly cert: string
  readonly key: string
  /** The names it is good for, as the certificate writes them. */
  readonly names: string
  readonly expires: Date
}

/**
 * Reads `--tls-cert` and `--tls-key`. Throws an `Error` of one line that names the setting and the file: not readable,
 * not PEM, a key of another certificate, a key that needs a passphrase. An expired certificate is taken: a site with a
 * warning beats no site.
 */
export async function readCertificate(certFile: string, keyFile: string): Promise<TlsCertificate> {
  const cert = await readPem('tls-cert', certFile, (text) => new X509Certificate(text))
  const key = await readPem('tls-key', keyFile, createPrivateKey)
  if (!cert.made.checkPrivateKey(key.made)) {
    throw new Error(`tls-key: ${keyFile} is not the key of the certificate in ${certFile}`)
  }
  try {
    // What OpenSSL has against the pair as a server's: a key too small, a broken chain.
    createSecureContext({ cert: cert.text, key: key.text })
  } catch (error) {
    throw new Error(`tls-cert: ${certFile}: ${firstLineOf(error)}`, { cause: error })
  }
  return {
    cert: cert.text,
    key: key.text,
    names: cert.made.subjectAltName ?? cert.made.subject,
    expires: new Date(cert.made.validTo),
  }
}

async function readPem<T>(
  setting: string,
  file: string,
  make: (text: string) => T,
): Promise<{ text: string; made: T }> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw new Error(`${setting}: cannot read ${file}: ${firstLineOf(error)}`, { cause: error })
  }
  try {
    return { text, made: make(text) }
  } catch (error) {
    throw new Error(`${setting}: ${file} is not a PEM file we can use: ${firstLineOf(error)}`, { cause: error })
  }
}

const firstLineOf = (error: unknown): string =>
  error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
