import type { ProxyCounts } from '../../../api/metrics.js'
import type { ClaimVerdict } from '../../../capture/decision.js'
import type { PackedBatch } from '../../../capture/packed-batch.js'
import type { RecorderStats } from '../../../capture/recorder.js'
import type { SampledPage } from '../../../capture/sampled-page.js'
import type { SiteSettings } from '../../../capture/site.js'
import type { Identity } from '../../../rules/rule.js'
import type { RuleSet } from '../../../rules/rule-set.js'
import type { DecisionCount } from '../../../site/rules/decision-counts.js'
import type { SpentAmount } from '../../../site/rules/shared-budgets.js'
import type { DropReason, EndpointDrop } from '../../../storage/drops.js'
import type { Config } from '../../config.js'
import type { Terminal } from '../terminal.js'

/** The first message to a process of the site, once it is ready. */
export interface SiteProcessOptions {
  config: Config
  /** How log lines look: both processes write to the same terminal. */
  terminal: Pick<Terminal, 'columns' | 'colour'>
  /** Number of files the process may open; undefined if the system does not say. */
  openFiles: number | undefined
  /** The socket at which the instance answers requests of the service. */
  socket: string
  sites: readonly SiteSettings[]
  /** The rules for agents, and what the other processes have added to budgets. */
  rules: RuleSet
  spent: readonly SpentAmount[]
}

export type ToSiteProcess =
  | { type: 'sites'; sites: readonly SiteSettings[] }
  | { type: 'rules'; set: RuleSet }
  | { type: 'verdicts'; verdicts: readonly ClaimVerdict[] }
  /** The worker's verdict on a claim that the process asked about; without one, the worker could not say. */
  | { type: 'claim_checked'; id: number; identity?: Identity }
  /** Amounts that another process has added to budgets. */
  | { type: 'spent'; amounts: readonly SpentAmount[] }
  /** The batch is stored; with `failure` it is lost. */
  | { type: 'settled'; sequence: number; failure?: string }
  /** Asks for `counts`; with `flush`, when every row that was recorded before is stored. */
  | { type: 'count'; id: number; flush: boolean }
  /** Reads the certificate again. */
  | { type: 'reload' }
  /** Running requests may continue for `grace_ms`; then the process ends. */
  | { type: 'stop'; grace_ms: number }

export type FromSiteProcess =
  /** The process hears messages from now on: those before are lost in a child of node:cluster. */
  | { type: 'ready' }
  | { type: 'listening'; port: number }
  /** The process cannot listen, and ends; `code` is Node's. */
  | { type: 'failed'; code: string; message: string }
  | { type: 'batch'; sequence: number; batch: PackedBatch }
  | { type: 'check_claim'; id: number; claim: { ip: string; agent_id: string } }
  /** Amounts that this process has added to budgets since its last message of this type. */
  | { type: 'spent'; amounts: readonly SpentAmount[] }
  | { type: 'policy_seen'; hostname: string; path: string; at: number }
  | { type: 'page_sampled'; page: SampledPage }
  /** `id` is that of the question, absent if nothing was asked. */
  | { type: 'counts'; id?: number; counts: SiteProcessCounts }

/** The counters of one process of the site since its start. */
export interface SiteProcessCounts {
  proxy: ProxyCounts
  recorder: RecorderStats
  /** Decisions of rules for agents. */
  rules: readonly DecisionCount[]
  /** Dropped hits since the last message. */
  drops: readonly (Pick<EndpointDrop, 'door' | 'count'> & { site: number | undefined; reason: DropReason })[]
}
