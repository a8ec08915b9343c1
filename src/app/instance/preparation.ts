import { randomBytes } from 'node:crypto'
import { createIngestKeys } from '../../manage/ingest-keys.js'
import { bootstrap } from '../../manage/orgs.js'
import { createSites } from '../../manage/sites.js'
import type { Records } from '../../storage/store.js'

/** Returns a function that adds what the records must hold before rows are stored; it runs after each opening. */
export function createPreparation(domains: readonly string[], now: () => Date) {
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone
  let isStart = true
  return async (records: Records) => {
    await bootstrap(records, { domains, timezone, now: now() })
    const sites = createSites(records)
    // Only at start: after a crash of the worker, the site's owner may have removed a domain on purpose.
    if (isStart) await sites.addDomains(domains)
    isStart = false
    const ids = (await sites.list()).map(({ id }) => id)
    await createIngestKeys({ records, now, random: randomBytes }).ensure(ids)
  }
}
