import t from 'tap'
import { runRead } from '../../../src/analytics/query/prepare-read.js'
import { reads } from '../../../src/analytics/reads/index.js'
import { sessionRows } from '../../fixtures/ask-reads.js'
import { openStore } from '../../fixtures/open-store.js'

const NOW = new Date('2026-11-21T12:00:00.000Z')
const START = '2026-11-21T08:00:00.000Z'

t.test('a shown flag is an event and does not prevent a bounce', async (t) => {
  const store = await openStore(t)
  const shown = { kind: 'custom', event_name: 'flag_exposure', props: '{"flag":"tide-chart"}' }
  const [bounced, acted] = [sessionRows(1n, 11n, START), sessionRows(2n, 12n, START)]
  await store.append({
    events: [
      bounced(START, '/'),
      bounced(START, '/', shown),
      acted(START, '/'),
      acted(START, '/', shown),
      acted(START, '/', { kind: 'custom', event_name: 'signup' }),
    ],
    agent_events: [],
  })
  const ask = async (path: string) => {
    const read = reads.find((each) => each.path === `/api/stats/${path}`)
    if (!read) throw new Error(path)
    const { data } = await runRead(read, new URLSearchParams('site=1&range=24h'), {
      ...{ store, now: () => NOW, segment: async () => undefined, catalog: [], assistants: [] },
      site: async (id) => ({ id, timezone: 'UTC', visitor_salt: 'never', owns: () => true }),
    })
    return data
  }
  const check = async (when: string) => {
    t.match(await ask('overview'), { sessions: 2, bounce: 0.5, events: 3 }, when)
    t.match(await ask('pages'), [{ pathname: '/', bounce: 0.5 }], when)
    t.match(
      await ask('events'),
      [
        { name: 'flag_exposure', events: 2 },
        { name: 'signup', events: 1 },
      ],
      when,
    )
  }
  await check('by its hits')
  await store.aggregate(new Date('2026-11-21T11:00:00.000Z'))
  await check('aggregated')
})
