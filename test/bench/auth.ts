import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listAgents, loadCatalog } from '../../src/agents/catalog.js'
import { createApp } from '../../src/api/app.js'
import { readRoutes } from '../../src/api/reads.js'
import { listenAdmin } from '../../src/api/server.js'
import { SESSION_COOKIE } from '../../src/api/session-cookie.js'
import { createKeys } from '../../src/manage/keys.js'
import { createLoginSessions } from '../../src/manage/login-sessions.js'
import { createMembers } from '../../src/manage/members.js'
import { bootstrap, createOrgs } from '../../src/manage/orgs.js'
import { createPeople } from '../../src/manage/people.js'
import { createSites } from '../../src/manage/sites.js'
import { createUsers } from '../../src/manage/users.js'
import { openEvents } from '../../src/storage/duckdb/event-store.js'
import { openRecords } from '../../src/storage/duckdb/records.js'
import { sql } from '../../src/storage/sql.js'
import { deed } from '../fixtures/audit-context.js'
import { storeOptions } from '../fixtures/store.js'

/** Organisations, people, sessions and keys, as many as a large instance has. */
const MANY = 1_000
const ROUNDS = 41
const CALLERS = ['operator', 'key', 'cookie'] as const
type CallerName = (typeof CALLERS)[number]
/** Requests of each caller in a round: of a read that needs no store, and of one over an empty one. */
const READS: readonly [path: string, requests: number][] = [
  ['/api/stats/dimensions', 200],
  ['/api/stats/realtime?site=1', 20],
]

/**
 * Measures the milliseconds of a read by API key and by session cookie against the same read by the operator, who needs
 * no look-up: in process and over HTTP, in turns, as medians of the rounds and of their differences. The records have a
 * thousand organisations, people, sessions and keys.
 */
export async function run([rounds = ROUNDS]: (string | number)[] = []): Promise<void> {
  const at = mkdtempSync(join(tmpdir(), 'readership-bench-'))
  const records = await openRecords(storeOptions(join(at, 'control.duckdb')).options)
  const events = await openEvents(storeOptions(join(at, 'events.duckdb')).options)
  const now = () => new Date()
  const start = now()
  await bootstrap(records, { domains: [], timezone: 'UTC', now: start })
  await records.write(
    sql`insert into organisations (id, name, created_at, require_totp)
      select i + 1, 'org', ${start}, false from range(1, ${MANY}) numbers (i)`,
    sql`insert into users (id, email, name, password, totp_secret, totp_on, totp_step, created_at)
      select i, i || '@a.example', 'A', null, null, false, null, ${start} from range(1, ${MANY + 1}) numbers (i)`,
    sql`insert into members (org, user_id, role, created_at) select id, id, 'owner', ${start} from users`,
    sql`insert into sessions (id, user_id, digest, created_at, last_seen_at, agent, ip)
      select id, id, md5(id::varchar), ${start}, ${start}, null, '' from users where id > 1`,
    sql`insert into keys (id, org, site, name, prefix, digest, scopes, created_at, expires_at, revoked_at, last_used_at,
        requests)
      select id, id, null, 'k', 'svcg_' || id, md5(id::varchar), '["stats:read"]', ${start}, null, null, null, 0 from users`,
    sql`update last_ids set id = ${MANY} where kind in ('organisations', 'users', 'sessions')`,
  )
  const deps = { records, now, random: randomBytes }
  const sites = createSites(records)
  const keys = createKeys({ ...deps, sites })
  const sessions = createLoginSessions(deps)
  const people = createPeople({
    ...{ sessions, users: createUsers(records), members: createMembers(records), orgs: createOrgs(records) },
  })
  const app = createApp({
    routes: readRoutes({ store: events, now, catalog: listAgents(loadCatalog()), sites }),
    ...{ credentials: { keys, people }, version: '0', now, log: console.error },
  })
  const { secret } = await keys.create({ org: 1, name: 'bench', scopes: [] }, deed)
  const token = await sessions.begin(1, { agent: null, ip: '' })
  const headers: Record<CallerName, Record<string, string>> = {
    operator: {},
    key: { authorization: `Bearer ${secret}` },
    cookie: { cookie: `${SESSION_COOKIE}=${token}` },
  }
  const open = await listenAdmin((request, peer) => app(request, { ...peer, operator: true }), '127.0.0.1', 0)
  const guarded = await listenAdmin(app, '127.0.0.1', 0)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })

  const inProcess = async (path: string, caller: CallerName) => {
    const request = new Request(`http://x${path}`, { headers: headers[caller] })
    const response = await app(request, { ip: '127.0.0.1', operator: caller === 'operator' })
    await response.arrayBuffer()
    return response.status
  }
  const overHttp = (path: string, caller: CallerName) =>
    new Promise<number | undefined>((resolve, reject) => {
      const { at } = caller === 'operator' ? open : guarded
      get(`${at}${path}`, { headers: headers[caller], agent }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode))
      }).on('error', reject)
    })

  const table: Record<string, Record<string, string>> = {}
  for (const [path, requests] of READS)
    for (const [way, ask] of Object.entries({ 'in process': inProcess, 'over HTTP': overHttp })) {
      const times: Record<CallerName, number[]> = { operator: [], key: [], cookie: [] }
      for (let round = -3; round < Number(rounds); round++)
        for (const i of CALLERS.keys()) {
          const caller = CALLERS[(i + round + CALLERS.length) % CALLERS.length] ?? 'operator'
          const began = performance.now()
          for (let n = 0; n < requests; n++)
            if ((await ask(path, caller)) !== 200) throw new Error(`${caller} is not let in to ${path}`)
          // The first few rounds are for the compiler.
          if (round >= 0) times[caller].push((performance.now() - began) / requests)
        }
      const more = (caller: CallerName) =>
        median(times[caller].map((ms, i) => ms - (times.operator[i] ?? 0))).toFixed(3)
      table[`${path} ${way}`] = {
        'open ms': median(times.operator).toFixed(3),
        'key ms': median(times.key).toFixed(3),
        'cookie ms': median(times.cookie).toFixed(3),
        'key more': more('key'),
        'cookie more': more('cookie'),
      }
    }
  console.table(table)
  console.log('aim: below 0.3 ms more (issue 6, show 6)')
  agent.destroy()
  await Promise.all([open.close(), guarded.close()])
  await Promise.all([events.close(), records.close()])
  rmSync(at, { recursive: true, force: true })
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
