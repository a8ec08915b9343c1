import { join } from 'node:path'
import t, { type Test } from 'tap'
import { VERDICTS, type Verdict } from '../../src/agents/verdict.js'
import { packBatch, readEvidence } from '../../src/capture/packed-batch.js'
import type { CommitPosition } from '../../src/storage/commit-position.js'
import type { DropCounts } from '../../src/storage/drops.js'
import { sql } from '../../src/storage/sql.js'
import { createLateVerdicts } from '../../src/worker/late-verdicts.js'
import { createWriter, type WriterDeps } from '../../src/worker/writer.js'
import { directory } from '../fixtures/files.js'
import { observation } from '../fixtures/observations.js'
import { agentRow, eventRow } from '../fixtures/rows.js'
import { openStoreAt } from '../fixtures/store.js'

/** A writer over a real store. The classifier turns `/agent/...` into an agent's row, `/none` into a drop and `/nan` into a row with an invalid value. */
async function writing(t: Test, given: Partial<WriterDeps> = {}) {
  const store = await openStoreAt(join(directory(t), 'events.duckdb'))
  t.teardown(() => store.close())
  const commits: CommitPosition[] = []
  const states: (string | undefined)[] = []
  const classified: string[] = []
  const writer = createWriter({
    classifier: {
      classify(batch) {
        const drops: DropCounts = {}
        const rows: ReturnType<WriterDeps['classifier']['classify']>['rows'] = { events: [], agent_events: [] }
        for (const { pathname } of batch.map(readEvidence)) {
          classified.push(pathname)
          if (pathname === '/none') drops.not_a_page = (drops.not_a_page ?? 0) + 1
          else if (pathname.startsWith('/agent')) rows.agent_events.push(agentRow({ pathname }))
          else rows.events.push(eventRow({ pathname, ...(pathname === '/nan' ? { status: Number.NaN } : {}) }))
        }
        return {
          rows,
          drops,
          endpointDrops: [],
          pendingVerifications: [],
          unplacedRows: [],
          additions: [],
          unmatchedViews: [],
          missingPages: [],
        }
      },
    },
    store,
    resolveLate: async () => ({ moves: [], placements: [], loose: [], additions: [], removed: new Map() }),
    from: { run: '00000000000000aa', sequence: 10, human: 100, agent: 50, drops: { fault: 1 } },
    obstacle: () => undefined,
    clock: () => performance.now(),
    sleep: () => new Promise((resolve) => setTimeout(resolve, 5)),
    onBegin() {},
    onCommit: ({ position }) => commits.push(position),
    onState: (reason) => states.push(reason),
    log: () => {},
    ...given,
  })
  const push = (sequence: number, ...paths: string[]) =>
    writer.push({ sequence, batch: packBatch(paths.map((pathname) => observation({ pathname }))) })
  const settled = async (sequence: number) => {
    for (let n = 0; n < 500 && commits.at(-1)?.sequence !== sequence; n++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  return { writer, store, push, settled, commits, states, classified }
}

t.test('totals continue from the start position and are stored with the rows', async (t) => {
  const { store, push, settled, commits } = await writing(t)
  push(11, '/a', '/agent/b', '/none')
  await settled(11)
  const mark: CommitPosition = {
    run: '00000000000000aa',
    sequence: 11,
    human: 101,
    agent: 51,
    drops: { fault: 1, not_a_page: 1 },
  }
  t.strictSame(commits, [mark])
  t.strictSame(await store.lastCommit('00000000000000aa'), mark)
  push(12, '/none')
  await settled(12)
  t.strictSame(commits[1], { ...mark, sequence: 12, drops: { fault: 1, not_a_page: 2 } })
  t.strictSame(await store.lastCommit('00000000000000aa'), mark, 'a batch without rows costs no transaction')
})

t.test('a row with an invalid value is dropped alone', async (t) => {
  const { store, push, settled, commits, states } = await writing(t)
  push(11, '/a', '/nan', '/b', '/nan', '/c', '/agent/d')
  await settled(11)
  t.match(commits, [{ human: 103, agent: 51, drops: { fault: 3 } }])
  t.strictSame(await store.query(sql`select pathname from events order by pathname`), [
    { pathname: '/a' },
    { pathname: '/b' },
    { pathname: '/c' },
  ])
  t.strictSame(states, [], 'and nothing is degraded by it')
})

t.test('rows wait during an obstacle, classified once and in order', async (t) => {
  let free = false
  const { store, push, settled, commits, states, classified } = await writing(t, {
    obstacle: () => (free ? undefined : 'no room'),
  })
  push(11, '/a')
  push(12, '/b')
  push(13, '/c')
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.strictSame([commits, states], [[], ['no room']], 'reported once')
  free = true
  await settled(13)
  t.strictSame(states, ['no room', undefined])
  t.strictSame(classified, ['/a', '/b', '/c'])
  t.strictSame(
    commits.map((mark) => [mark.sequence, mark.human]),
    [
      [11, 101],
      [13, 103],
    ],
    'what waited is one commit',
  )
  t.strictSame(await store.query(sql`select count(*) as n from events`), [{ n: 3 }])
})

t.test('a failing store is retried with the same rows; stop gives up at once', async (t) => {
  const { store, writer, push, commits, states, classified } = await writing(t, {
    sleep: () => new Promise((resolve) => setTimeout(resolve, 60_000).unref()),
  })
  await store.close()
  push(11, '/a')
  push(12, '/b')
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.strictSame([commits, classified], [[], ['/a']])
  t.match(states, [/closed/])
  const from = performance.now()
  await writer.stop()
  t.ok(performance.now() - from < 10_000)
})

t.test('late rows are stored with the sessions that the store has, once it can be queried', async (t) => {
  let attempts = 0
  const late = eventRow({ pathname: '/late' })
  const { visitor_id } = late
  const who = { visitor_id, previous: undefined, next: undefined }
  const { store, push, settled, commits, states } = await writing(t, {
    classifier: {
      classify: () => ({
        rows: { events: [late], agent_events: [] },
        drops: {},
        endpointDrops: [],
        pendingVerifications: [],
        unplacedRows: [{ row: late, visitor: who }],
        additions: [],
        unmatchedViews: [],
        missingPages: [],
      }),
    },
    async resolveLate(rows, { unplacedRows }) {
      if (attempts++ < 2) throw new Error('not now')
      t.strictSame([rows, unplacedRows], [[late], [{ row: late, visitor: who }]])
      Object.assign(late, { session_id: 77n })
      return { moves: [], placements: [], loose: [], additions: [], removed: new Map() }
    },
  })
  push(11, '/late')
  await settled(11)
  t.match(commits, [{ human: 101 }])
  t.strictSame(states, ['not now', undefined])
  t.strictSame(await store.query(sql`select session_id from events`), [{ session_id: '000000000000004d' }])
})

t.test('waiting batches are merged up to 5,000 observations; a larger one is stored alone', async (t) => {
  let free = false
  const { push, settled, commits } = await writing(t, { obstacle: () => (free ? undefined : 'wait') })
  push(11, '/first')
  const many = (count: number) => Array.from({ length: count }, (_, n) => `/${n}`)
  for (let sequence = 12; sequence < 18; sequence++) push(sequence, ...many(1_000))
  push(18, ...many(7_000))
  push(19, '/last')
  free = true
  await settled(19)
  t.strictSame(
    commits.map((mark) => mark.sequence),
    [11, 16, 17, 18, 19],
  )
  t.equal(commits.at(-1)?.human, 100 + 1 + 6_000 + 7_000 + 1)
})

t.test('a row that is verified soon is stored verified; a later verdict completes the stored row', async (t) => {
  const answers = new Map<string, (verdict: Verdict) => void>()
  const late: string[][] = []
  const { store, writer, settled, commits } = await writing(t, {
    classifier: {
      classify(batch) {
        const agent_events = batch
          .map(readEvidence)
          .map(({ pathname }) =>
            agentRow({ pathname, ip_hash: BigInt(pathname.length), verification: 'indeterminate' }),
          )
        const open = agent_events.map((row) => ({
          row,
          verdict: new Promise<Verdict>((resolve) => answers.set(row.pathname, resolve)),
        }))
        return {
          rows: { events: [], agent_events },
          drops: {},
          endpointDrops: [],
          pendingVerifications: open,
          unplacedRows: [],
          additions: [],
          unmatchedViews: [],
          missingPages: [],
        }
      },
    },
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms / 2)),
    onCommit(commit) {
      commits.push(commit.position)
      late.push(commit.pending.map(({ row }) => row.pathname))
      completions.add(commit.pending)
    },
  })
  const completed: string[] = []
  const completions = createLateVerdicts({
    store,
    onStored: (verdicts) => completed.push(...verdicts.map(({ verification }) => verification)),
    log: (_, message) => t.fail(message),
  })
  const stored = async () => {
    const rows = await store.query(sql`select pathname, verified, verification from agent_events order by pathname`)
    return rows.map(({ pathname, verified, verification }) => [pathname, verified, verification])
  }
  const of = (...paths: string[]) => packBatch(paths.map((pathname) => observation({ pathname })))

  writer.push({ sequence: 11, batch: of('/soon', '/late', '/never') })
  answers.get('/soon')?.(VERDICTS.rdns)
  await settled(11)
  t.strictSame(late, [['/late', '/never']])
  t.strictSame(await stored(), [
    ['/late', null, 'indeterminate'],
    ['/never', null, 'indeterminate'],
    ['/soon', true, 'rdns'],
  ])

  answers.get('/late')?.(VERDICTS.spoofed)
  answers.get('/never')?.(VERDICTS.indeterminate)
  await new Promise((resolve) => setImmediate(resolve))
  await completions.flush()
  await completions.flush()
  t.match(await stored(), [['/late', false, 'spoofed'], [], ['/soon', true, 'rdns']])
  t.same(completed, ['spoofed'], 'each verdict that was stored is reported, once')
})
