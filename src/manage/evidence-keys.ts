import { createPrivateKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import { sql } from '../storage/sql.js'
import type { Records } from '../storage/store.js'
import { type AuditContext, auditStatements } from './audit.js'

const SEED_BYTES = 32
/** An Ed25519 private key in PKCS #8 (RFC 8410 7), up to its 32 bytes. */
const PKCS8_START = Buffer.from('302e020100300506032b657004220420', 'hex')

export type EvidenceKeys = ReturnType<typeof createEvidenceKeys>

/**
 * The key that signs folders of evidence. It is a record, so that the processes of one site sign with the same key, and a
 * restored backup goes on with it.
 */
export function createEvidenceKeys(records: Records, random: (bytes: number) => Buffer) {
  /** Returns the key; undefined before the first folder. */
  const get = async (): Promise<KeyObject | undefined> => {
    const [row] = await records.query(sql`select seed from evidence_keys`)
    if (row === undefined) return undefined
    const seed = Buffer.from(z.base64().parse(row.seed), 'base64')
    return createPrivateKey({ key: Buffer.concat([PKCS8_START, seed]), format: 'der', type: 'pkcs8' })
  }
  return {
    get,
    /** Returns the key, and makes it for the first folder. */
    async getOrCreate(at: Date): Promise<KeyObject> {
      const seed = random(SEED_BYTES).toString('base64')
      const known = await get()
      if (known) return known
      await records.write(
        sql`insert into evidence_keys select ${seed}, ${at} where not exists (select * from evidence_keys)`,
      )
      const made = await get()
      if (made === undefined) throw new Error('the key of evidence was written but cannot be read back')
      return made
    },
    /** Adds a line about a folder to the audit log. */
    audit: (context: AuditContext, site: number, details: Readonly<Record<string, unknown>>): Promise<void> =>
      records.write(
        ...auditStatements(context, { action: 'create', object: 'evidence', id: site, details: { site, ...details } }),
      ),
  }
}
