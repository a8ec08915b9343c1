import { listAgents, loadCatalog } from '../../agents/catalog.js'
import { Activity } from '../../manage/annotation-writers/activity.js'
import { createNotes } from '../../manage/annotation-writers/notes.js'
import type { Core } from './core.js'

const NOTES_INTERVAL_MS = 10_000

/** Writes the notes that readership writes by itself, every ten seconds; `stop` resolves when nothing is being written. */
export function startNotes({ workerClient, manage, spans, health, siteOf, log, now }: Core) {
  const catalog = loadCatalog()
  const notes = createNotes({
    annotations: manage.annotations,
    sites: manage.sites,
    rules: manage.rules,
    records: workerClient.records,
    store: workerClient.events,
    siteOf,
    catalog: { version: catalog.version, agents: listAgents(catalog) },
    takeActivity: async () => Activity.parse(await workerClient.call('activity')),
    started: spans.started,
    now,
  })
  let writing: Promise<void> | undefined
  let isFailing = false
  const run = async () => {
    if (!workerClient.isWriter() || health().state !== 'ready') return
    try {
      await notes.write()
      isFailing = false
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'automatic notes could not be written; they are retried')
      isFailing = true
    }
  }
  const stopHearing = workerClient.onPolicyChange(notes.policyChanged)
  const timer = setInterval(() => {
    writing ??= run().finally(() => {
      writing = undefined
    })
  }, NOTES_INTERVAL_MS)
  timer.unref()
  return {
    async stop(): Promise<void> {
      clearInterval(timer)
      stopHearing()
      await writing
    },
  }
}
