import { randomBytes } from 'node:crypto'
import { lookup, Resolver } from 'node:dns/promises'
import { createPoster, createResolve } from '../../base/outbound/guarded-outbound.js'
import { startNotify } from '../../manage/notify/notify.js'
import type { Core } from './core.js'
import type { Mail } from './mail.js'
import type { Reads } from './reads.js'

const systemLookup = async (hostname: string) => (await lookup(hostname, { all: true })).map(({ address }) => address)

/** Starts the evaluation of alerts and the sending of reports. */
export function startNotifications(
  { workerClient, manage, spans, health, log, now }: Core,
  { asOperator, draw }: Reads,
  { send }: Mail,
  {
    private_webhooks,
    version,
    indexnow_url,
  }: { private_webhooks: boolean; version: string; indexnow_url: string | undefined },
) {
  return startNotify({
    records: workerClient.records,
    alerts: manage.alerts,
    reports: manage.reports,
    sites: manage.sites,
    readDependencies: asOperator,
    now,
    log,
    random: randomBytes,
    isWriter: workerClient.isWriter,
    ready: () => health().state === 'ready',
    spans,
    mail: send,
    post: createPoster({
      // Only the system resolver knows the names of a local network.
      resolve: private_webhooks ? systemLookup : createResolve(new Resolver()),
      version,
      anywhere: private_webhooks,
    }),
    draw,
    indexnow_url,
  })
}
