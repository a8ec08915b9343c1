import type { randomBytes } from 'node:crypto'
import { loadCatalog } from '../agents/catalog.js'
import { createLock } from '../base/lock.js'
import type { Records } from '../storage/store.js'
import { createAlerts } from './alerts.js'
import { createAnnotations } from './annotations.js'
import { createAuditLog } from './audit-log.js'
import { createDrops } from './drops.js'
import { createEvidenceKeys } from './evidence-keys.js'
import { createFlags } from './flags.js'
import { createFunnels } from './funnels.js'
import { createGoals } from './goals.js'
import { createImports } from './imports.js'
import { createIngestKeys } from './ingest-keys.js'
import { createInvitations } from './invitations.js'
import { createKeys } from './keys.js'
import { createLoginSessions } from './login-sessions.js'
import { createMembers } from './members.js'
import { createOrgs } from './orgs.js'
import { createHistories } from './other-tools.js'
import { createPeople } from './people.js'
import { createRedirects } from './redirects.js'
import { createRefusedHostnames } from './refused-hostnames.js'
import { createReports } from './reports.js'
import { createRobotsTexts } from './robots-texts.js'
import { createRulePauses } from './rule-pauses.js'
import { createRules } from './rules.js'
import { createSegments } from './segments.js'
import { createShares } from './shares.js'
import { createSites } from './sites.js'
import type { Dependent } from './table-cache.js'
import { createUsers } from './users.js'

interface ManageDeps {
  records: Records
  /** Whether this process writes; true by default. */
  isWriter?: () => boolean
  now: () => Date
  random: typeof randomBytes
  /** Called after a site was created, changed or deleted. */
  onSitesChanged: () => Promise<void>
  /** Called after a change of a source of the active rules: a rule, a pause, a redirect, a managed robots.txt. */
  onRulesChanged?: () => Promise<void>
}

export type Manage = ReturnType<typeof createManage>

/** Puts the modules of this folder together over the records of one instance. */
export function createManage(deps: ManageDeps) {
  const { records, isWriter = () => true, now, random, onSitesChanged, onRulesChanged = async () => {} } = deps
  const sites = createSites(records, async () => {
    // A deleted site takes its records, keys and memberships along.
    for (const each of [
      keys,
      ingestKeys,
      members,
      imports,
      annotations,
      ...Object.values({ ...configured, ...decided, ...managed }),
    ])
      each.invalidate()
    await onSitesChanged()
  })
  const lock = createLock()
  const keys = createKeys({ records, sites, now, random })
  const imports = createImports(records, random)
  const ingestKeys = createIngestKeys({ records, now, random })
  const sessions = createLoginSessions({ records, now, random })
  const users = createUsers(records)
  const members = createMembers(records, lock)
  const orgs = createOrgs(records, lock)
  const emailOf = async (user: number) => (await users.get(user))?.email
  const invitations = createInvitations({ records, members, emailOf, now, random, lock })
  const audit = createAuditLog(records)
  const managed = { goals: createGoals(records), funnels: createFunnels(records), segments: createSegments(records) }
  const configured = {
    flags: createFlags(records),
    shares: createShares(records),
    alerts: createAlerts({ records, random }),
    reports: createReports(records),
    histories: createHistories(records),
  }
  const annotations = createAnnotations(records)
  const activeRules = { invalidate: onRulesChanged }
  const decided = createDecided(records, annotations, activeRules)
  return {
    sites,
    keys,
    ingestKeys,
    sessions,
    users,
    members,
    orgs,
    invitations,
    audit,
    ...configured,
    ...decided,
    rulePauses: createRulePauses(records, annotations, activeRules),
    annotations,
    imports,
    robotsTexts: createRobotsTexts(records, sites),
    evidenceKeys: createEvidenceKeys(records, random),
    managed,
    drops: createDrops({ records, now, isWriter }),
    refusedHostnames: createRefusedHostnames({ sites: sites.list, orgs: orgs.list, now }),
    people: createPeople({ sessions, users, members, orgs }),
    lock,
    /** Hourly clean-up: deletes organisations whose grace period has ended and prunes expired records. */
    async cleanUp(at: Date): Promise<void> {
      await orgs.expire(at, (org, along) => sites.deleteAllOfOrg(org, at, along))
      await invitations.prune(at)
      await audit.prune(at)
      await annotations.prune(await sites.list(), at)
    },
    /** Reads everything again that another process may have changed. */
    async reload(): Promise<void> {
      sessions.reload()
      for (const each of [users, orgs, imports, configured.histories]) each.invalidate()
      await sites.invalidate()
    },
    /** Reads everything again: after the engine's restart the records may differ from what was read. */
    async invalidate(): Promise<void> {
      sessions.reset()
      for (const each of [users, orgs, imports, configured.histories]) each.invalidate()
      await sites.invalidate()
    },
  }
}

/** Creates the records by which sites decide. */
const createDecided = (records: Records, annotations: Dependent, activeRules: Dependent) => ({
  rules: createRules(records, loadCatalog(), annotations, activeRules),
  redirects: createRedirects(records, activeRules),
})
