import type { Test } from 'tap'
import type { SiteSettings } from '../../src/capture/site.js'
import type { EventStore } from '../../src/storage/event-store.js'
import type { SaltStore } from '../../src/worker/ingest/salts.js'
import { createImporter, logLine, type Recording } from '../fixtures/importer.js'
import { observation } from '../fixtures/observations.js'
import type { Random } from '../fixtures/random.js'
import type { Fact } from './delivered-facts.js'

/** A log of a site about people who were recorded too: lines of views that are stored, and of views that only it has. */

const [MINUTE, DAY] = [60_000, 86_400_000]
const dayOf = (at: number): number => Math.floor(at / DAY)

interface Reader {
  ip: string
  facts: readonly Fact[]
  /** The views that a server answered. */
  served: readonly { at: number; pathname: string; status: number }[]
}

/** Draws a log, and the further facts that it tells, by their reader. `isHeld` tells of which times the salts are held. */
export function drawLog<Person extends Reader>(
  random: Random,
  people: readonly Person[],
  isHeld: (at: number) => boolean,
) {
  const lines: { at: number; text: string }[] = []
  const write = ({ ip }: Person, at: number, pathname: string, status: number) =>
    lines.push({ at, text: logLine(at, ip, pathname, observation().user_agent, { status }) })
  let known = 0
  const logged = people.map((person) => {
    const { facts, served } = person
    for (const { at, pathname, status } of served) {
      const near = facts.filter((one) => one.pathname === pathname && Math.abs(one.at - at) < 2 * MINUTE)
      // A line whose row may be another one's tells nothing.
      if (near.length > 1 || !isHeld(at) || random() < 0.3) continue
      write(person, at - (at % 1_000), pathname, status)
      known++
    }
    const times = facts.map(({ at }) => at).toSorted((a, b) => a - b)
    const between = times.flatMap((at, n) => {
      const middle = (at + (times[n + 1] ?? at + 40 * MINUTE)) / 2
      const moment = middle - (middle % 1_000)
      // The day's id is known by what was recorded on it.
      const isNamed = times.some((other) => dayOf(other) === dayOf(moment))
      return moment - at > 2 * MINUTE && isNamed && isHeld(moment) && random() < 0.5 ? [moment] : []
    })
    for (const at of between) write(person, at, '/logged', 200)
    return between.map(
      (at): Fact => ({ kind: 'pageview', at, pathname: '/logged', engaged: 0, row: { language: null } }),
    )
  })
  return {
    known,
    lines: lines.toSorted((a, b) => a.at - b.at).map(({ text }) => text),
    people: people.map((person, n) => ({ ...person, facts: [...person.facts, ...(logged[n] ?? [])] })),
    human: logged.flat().length,
  }
}

/** Imports a log, calls `check`, and undoes the import. */
export async function importAndUndo(
  t: Test,
  given: { store: EventStore; site: SiteSettings; recording: Recording; salts: SaltStore; now: () => number },
  { lines, human, known }: Pick<ReturnType<typeof drawLog>, 'lines' | 'human' | 'known'>,
  check: () => Promise<void>,
): Promise<void> {
  if (lines.length === 0) return
  const importer = await createImporter(t, given)
  const { id, counts } = await importer.add([lines])
  const { human: stored, known: recognised, own_salts } = counts
  if (stored !== human || recognised !== known || own_salts)
    t.fail(`site ${given.site.id}: what became of a log`, { counts, human, known })
  await check()
  await importer.undo(id)
}
