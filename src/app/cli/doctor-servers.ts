import { z } from 'zod'
import type { ClickHouseFindings } from '../../storage/clickhouse/inspect.js'
import type { PostgresFindings } from '../../storage/postgres/inspect.js'
import type { Config } from '../config.js'
import { type Finding, fail, MAX_CLOCK_SKEW_S, ok, warn } from './finding.js'

/** With clocks that are further apart, readership does not start. */
const REFUSED_CLOCK_SKEW_S = 300
/** The first version of PostgreSQL with `merge`; 18.4 is the one that is tested. */
const OLDEST_POSTGRES = 150_000

/** Checks the servers of `--store` and `--control`, and that they belong together. Changes nothing on them. */
export async function checkServers(
  { store, control }: Pick<Config, 'store' | 'control'>,
  now: () => Date,
): Promise<Finding[]> {
  const [rows, records] = [
    store === undefined ? undefined : await look('ClickHouse', '--store', () => inspectStore(store, now)),
    control === undefined ? undefined : await look('PostgreSQL', '--control', () => inspectControl(control, now)),
  ]
  return [
    ...(rows?.failure ? [rows.failure] : []),
    ...(rows?.found ? checkClickHouse(rows.found) : []),
    ...(records?.failure ? [records.failure] : []),
    ...(records?.found ? checkPostgres(records.found) : []),
    ...(rows?.found && records?.found ? checkBinding(rows.found, records.found) : []),
  ]
}

/** Loads what this server alone needs. */
const inspectStore = async (url: string, now: () => Date) =>
  (await import('../../storage/clickhouse/inspect.js')).inspectClickHouse(url, now)
const inspectControl = async (url: string, now: () => Date) =>
  (await import('../../storage/postgres/inspect.js')).inspectPostgres(url, now)

async function look<T>(
  check: string,
  setting: string,
  inspect: () => Promise<T>,
): Promise<{ found?: T; failure?: Finding }> {
  try {
    return { found: await inspect() }
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error)
    const mend = isMissingPackage(error)
      ? 'Install it beside readership; readership does not start without it.'
      : `Start the server, or correct ${setting}; readership does not start without it.`
    return { failure: fail(check, says, mend) }
  }
}

/** A package that only some stores need is not installed. */
const isMissingPackage = (error: unknown): boolean =>
  error instanceof Error && z.object({ code: z.literal('ERR_MODULE_NOT_FOUND') }).safeParse(error.cause).success

function checkClickHouse({
  name,
  user,
  version,
  isTested,
  hasRights,
  schema,
  clockDifference_ms,
}: ClickHouseFindings): Finding[] {
  const check = 'ClickHouse'
  return [
    isTested
      ? ok(check, `${name}: version ${version}`)
      : warn(check, `${name}: version ${version}`, 'Use 26.7 or newer: older ones are not tested.'),
    hasRights
      ? ok(`${check} rights`, `${user} has what is needed`)
      : fail(
          `${check} rights`,
          `${user} lacks some`,
          'Grant select, insert, alter, create table and drop table on the database to the user, and for cluster= cluster and remote on *.*.',
        ),
    ...checkSchema(check, schema),
    checkClock(check, clockDifference_ms),
  ]
}

function checkPostgres(postgres: PostgresFindings): Finding[] {
  const check = 'PostgreSQL'
  const { name, version, version_number, missingRights, schema, clockDifference_ms } = postgres
  return [
    version_number < OLDEST_POSTGRES
      ? fail(check, `${name}: version ${version}`, 'Use PostgreSQL 15 or newer.')
      : ok(check, `${name}: version ${version}`),
    missingRights.length === 0
      ? ok(`${check} rights`, 'the user has what is needed')
      : fail(
          `${check} rights`,
          `the user lacks the right ${missingRights.join(', and ')}`,
          'Make the user the owner of the database and of its tables.',
        ),
    // Without rights, the version cannot be read.
    ...(missingRights.length === 0 ? checkSchema(check, schema) : []),
    checkClock(check, clockDifference_ms),
    ...checkLease(postgres),
  ]
}

function checkSchema(server: string, { stored, known }: ClickHouseFindings['schema']): Finding[] {
  const check = `${server} schema`
  if (stored > known)
    return [
      fail(
        check,
        `version ${stored}; this readership knows ${known}`,
        'Use the readership that wrote it, or a newer one.',
      ),
    ]
  if (stored === 0) return [ok(check, 'the first start creates the tables')]
  return [ok(check, stored === known ? `version ${stored}` : `version ${stored}; the next start brings it to ${known}`)]
}

function checkClock(server: string, difference_ms: number): Finding {
  const check = `${server} clock`
  const seconds = Math.round(difference_ms / 1_000)
  if (seconds <= MAX_CLOCK_SKEW_S) return ok(check, "agrees with this machine's")
  const says = `differs by ${seconds} s from this machine's`
  const mend = 'Set both by NTP (timedatectl set-ntp true).'
  return seconds > REFUSED_CLOCK_SKEW_S ? fail(check, says, mend) : warn(check, says, mend)
}

function checkLease({ lease }: PostgresFindings): Finding[] {
  if (!lease) return []
  const check = 'writer'
  if (lease.address === undefined)
    return [warn(check, 'no process writes', 'Start one with --role writer or both; readers alone store nothing.')]
  const says = `${lease.address || 'a process without --advertise'}, epoch ${lease.epoch}`
  return [
    lease.isRenewed
      ? ok(check, says)
      : warn(
          check,
          `${says}: it has not renewed its lease`,
          'It has died or was stopped; another process takes over in 8 s.',
        ),
  ]
}

/** The first writer gives the rows and the records one token. */
function checkBinding({ token: ofRows }: ClickHouseFindings, { token: ofRecords }: PostgresFindings): Finding[] {
  if (ofRows === undefined) return []
  const check = 'binding'
  if (ofRows === ofRecords) return [ok(check, 'the rows belong to these records')]
  return [
    fail(
      check,
      'the rows in ClickHouse belong to other records',
      'Use the PostgreSQL database that they were stored with, or an empty database in ClickHouse.',
    ),
  ]
}
