import type { AuditLog } from './audit-log.js'
import type { Invitations } from './invitations.js'
import type { Orgs } from './orgs.js'
import type { Sites } from './sites.js'

/** What time takes from the records, to be called each hour: organisations whose delay is over, and what nobody needs. */
export const createHourlyCleanup =
  (deps: {
    orgs: Pick<Orgs, 'expire'>
    sites: Pick<Sites, 'deleteAllOfOrg'>
    invitations: Pick<Invitations, 'prune'>
    audit: Pick<AuditLog, 'prune'>
  }) =>
  async (at: Date): Promise<void> => {
    const { orgs, sites, invitations, audit } = deps
    await orgs.expire(at, (org, along) => sites.deleteAllOfOrg(org, at, along))
    await invitations.prune(at)
    await audit.prune(at)
  }
