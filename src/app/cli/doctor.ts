import { z } from 'zod'
import { RangesStatus } from '../../agents/ranges/status.js'
import { formatDuration } from '../../analytics/export/format.js'
import { InstanceStatus } from '../../api/instance-status.js'
import { StoreLoss } from '../../manage/store-losses.js'
import { inspectMachine } from '../../worker-client/machine.js'
import type { Config } from '../config.js'
import { dashboardUrl, exposedDashboardUrl, isRunning, listenerUrl, withClient } from './client.js'
import { type CommandCall, defineCommand, JSON_FLAG, printJson } from './command.js'
import {
  checkBackups,
  checkDataDirectory,
  checkFiles,
  checkGrowth,
  checkKeyFiles,
  checkMemory,
  checkSetAside,
  type ExaminedFile,
  examineStore,
  STORED_DATA,
} from './doctor-files.js'
import {
  checkExposure,
  checkHostnames,
  checkOwnCertificate,
  checkPorts,
  checkReach,
  checkTrust,
} from './doctor-listeners.js'
import { checkGeoData, checkRanges } from './doctor-lists.js'
import { checkCollector, checkOrigin } from './doctor-origin.js'
import { checkServers } from './doctor-servers.js'
import { escapeText } from './escape.js'
import { errorReason, type Finding, fail, ok, warn } from './finding.js'
import { Failure, style, type Terminal } from './terminal.js'
import { wrapIndented } from './text-width.js'

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'check settings, data, network and clocks, and suggest fixes; takes the flags of proxy',
  arguments: [{ syntax: '[origin-url]', doc: 'site (default: from the settings, or from the running instance)' }],
  settings: [
    ...([
      'origin',
      'host',
      'port',
      'admin_host',
      'admin_port',
      'base_path',
      'trust_proxy',
      'tls_cert',
      'tls_key',
    ] as const),
    ...(['inject', 'expose', 'public_url', 'store', 'control', 'collector', 'ingest_key', 'ingest_key_file'] as const),
    ...(['memory_limit', 'min_free_disk', 'max_disk', 'backup_dir', 'geoip', 'ranges', 'offline'] as const),
  ],
  flags: z.object({ json: JSON_FLAG }),
  async run(call) {
    const { flags, terminal } = call
    printFindings(terminal, await examine(call, () => Date.now()), flags.json)
  },
})

/** Prints findings, or JSON of them; throws `Failure` if a check failed. */
export function printFindings(terminal: Terminal, findings: readonly Finding[], isJson: boolean): void {
  if (isJson) printJson(terminal, findings)
  else for (const finding of findings) terminal.out(formatFinding(terminal, finding))
  const failed = findings.filter(({ state }) => state === 'fail').length
  if (failed > 0) throw new Failure(`${failed} of ${findings.length} checks failed.`)
}

function formatFinding(terminal: Terminal, { check, state, says, mend }: Finding): string {
  const mark = { ok: ['green', '✓'], warn: ['yellow', '!'], fail: ['red', '✗'] } as const
  const [colour, sign] = mark[state]
  const found = wrapIndented(`${check}: ${escapeText(says)}`, terminal.columns, 2)
  const hint = mend && wrapIndented(escapeText(mend), terminal.columns, 4)
  return `${style(terminal, colour, sign)} ${found}\n${hint ? `    ${hint}\n` : ''}`
}

/** Makes all checks. The settings of a running instance count before those of this command. */
async function examine(call: CommandCall<unknown>, now: () => number): Promise<Finding[]> {
  const running = await checkInstance(call)
  const config: Config = { ...call.config, ...running.status?.settings }
  const { collector = call.config.collector, listeners, requests, origin } = running.status ?? {}
  const dashboard = running.status ? running.status.dashboard : exposedDashboardUrl(config)
  const isProxy = config.origin !== undefined || origin !== undefined
  const hasSite = running.isRunning ? listeners?.site !== undefined : isProxy
  // `serve` has one listener, with the settings that are the site's of a proxy.
  const atRest = isProxy ? config : { admin_host: config.host, admin_port: config.port }
  const service = running.status ? listeners?.service : listenerUrl(atRest)
  return [
    ok('settings', 'valid'),
    ...(await checkDataDirectory(config)),
    ...(await checkKeyFiles(config)),
    checkMemory(config, inspectMachine()),
    ...(await checkServers(config, () => new Date(now()))),
    ...running.findings,
    ...(running.status ? checkGrowth(running.status, config.min_free_disk) : []),
    ...(await checkBackups(config, running.status?.backups, now())),
    ...(listeners ? await checkReach(listeners) : []),
    ...(running.isRunning || !isProxy ? [] : await checkPorts(config)),
    ...checkExposure('dashboard', dashboard, hasSite),
    ...(service === undefined || service === dashboard?.replace(/\/$/, '') || collector !== undefined
      ? []
      : checkExposure('service', dashboardUrl(config, service), hasSite)),
    ...(await checkOwnCertificate(config, now)),
    ...(isProxy && hasSite ? [checkTrust(config.trust_proxy, requests)] : []),
    ...(running.status ? checkHostnames(running.status.rows) : []),
    ...(await checkOrigin(call.config.origin ?? origin, config.inject, now)),
    // If rows are shipped, the collector does the geo lookup and the verification.
    ...(collector === undefined
      ? [checkGeoData(config, now()), checkRanges(config, running.ranges, now())]
      : await checkCollector(collector, now)),
  ]
}

export interface RunningInstance {
  isRunning: boolean
  findings: Finding[]
  /** The files of the store, if no instance has them open. */
  files?: ExaminedFile[]
  status?: InstanceStatus
  ranges?: RangesStatus[]
}

/** Checks the running instance; also returns its state and its ranges. */
export async function checkInstance({ config, terminal }: CommandCall<unknown>): Promise<RunningInstance> {
  if (!(await isRunning(config.data))) {
    const files = await examineStore(config)
    const findings = [
      ok('instance', `none runs on ${config.data}`),
      ...checkFiles(config, files),
      ...(await checkSetAside(config)),
    ]
    return { isRunning: false, files, findings }
  }
  try {
    return await withClient({ config, terminal }, async (client): Promise<RunningInstance> => {
      const status = await client.read(InstanceStatus, 'GET', '/control/status')
      if (status.collector !== undefined)
        return { isRunning: true, status, findings: [shippingFinding(status.store, status.collector)] }
      const ranges = await client.read(z.array(RangesStatus), 'GET', '/control/agents/holdings')
      const { losses } = await client.read(z.object({ losses: z.array(StoreLoss) }), 'GET', '/control/store')
      const { data, backup_dir } = config
      const findings =
        losses.length > 0
          ? losses.map(lossFinding)
          : [
              storeFinding(status),
              ...(await checkSetAside({ data, backup_dir: status.backups?.directory ?? backup_dir })),
            ]
      return { isRunning: true, status, ranges, findings }
    })
  } catch (error) {
    const says = `does not respond (${errorReason(error)})`
    return { isRunning: true, findings: [fail('instance', says, 'Look at its log; restart it if it hangs.')] }
  }
}

const lossFinding = ({ message, backup }: z.infer<typeof StoreLoss>): Finding =>
  fail(
    STORED_DATA,
    backup === undefined ? message : `${message} The file as it was: ${backup}.`,
    '`readership store status` says what you can decide: restore a backup, `store assign` or `store accept`.',
  )

function storeFinding({ store, fleet }: InstanceStatus): Finding {
  if (store.state === 'ready' && store.losses?.length)
    return warn(
      'instance',
      `runs, but lost data at its start: ${store.losses.join('; ')}`,
      'Keep the files named there until you know what they contained.',
    )
  if (fleet && !fleet.held)
    return fail(
      'instance',
      `runs, but no process stores rows: the lease of epoch ${fleet.epoch} was renewed ${formatDuration(fleet.age_seconds)} ago`,
      'Start a process with --role writer or both, and look at the log of the last writer.',
    )
  if (store.state === 'ready')
    return ok(
      'instance',
      fleet?.role === 'reader'
        ? `runs, and reads; ${fleet.writer ?? 'another process'} stores rows`
        : 'runs, and stores rows',
    )
  return fail(
    'instance',
    `runs, but its store is ${store.state}: ${store.reason ?? 'no reason given'}`,
    'The site stays up, but no rows are stored until this is fixed.',
  )
}

function shippingFinding({ state, reason, trouble }: InstanceStatus['store'], collector: string): Finding {
  if (state !== 'ready')
    return fail('instance', `runs, but ${reason ?? `is ${state}`}`, 'Fix this: rows wait in memory only.')
  if (trouble === undefined) return ok('instance', `runs, and ships rows to ${collector}`)
  return warn(
    'instance',
    `runs, but ${collector} accepts no rows: ${trouble}`,
    'Rows wait on disk; the log of the instance says more.',
  )
}
