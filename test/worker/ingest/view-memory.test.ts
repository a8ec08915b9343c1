import t from 'tap'
import { createViewMemory } from '../../../src/worker/ingest/view-memory.js'
import { hitAt, startClassifier, startWithMemory, view } from '../../fixtures/hit-classifier.js'

t.test('memory is bounded; about forgotten views the store is asked', async (t) => {
  const classify = startClassifier({}, { maxEntries: 100 })
  const [first] = classify(view(0)).rows.events
  for (let n = 0; n < 300; n++) classify(view(1, { ip: `10.0.${n >> 8}.${n & 255}` }))
  const { rows, unmatchedViews } = classify(hitAt(2))
  t.match(unmatchedViews, [{ reportedBy: 'browser', row: { visitor_id: first?.visitor_id } }], 'the store is asked')
  t.equal(rows.events.length, 1)
  const known = startClassifier()
  known(view(0))
  t.strictSame(
    [known(hitAt(1)).unmatchedViews, known(hitAt(2)).unmatchedViews, known(view(3, { pathname: '/b' })).unmatchedViews],
    [[], [], []],
  )
})

t.test('remembers nothing for a site without browser hits', async (t) => {
  const viewMemory = createViewMemory()
  const classify = startWithMemory({}, viewMemory)
  const ON_TWO = { hostname: 'two.example' }
  const [here] = classify(view(0), view(0, ON_TWO)).rows.events
  t.strictSame([viewMemory.hasBrowserHits(1), viewMemory.hasBrowserHits(2)], [false, false])
  const first = classify(hitAt(1), view(2, { pathname: '/b' }), view(2, ON_TWO))
  t.match(
    first.unmatchedViews,
    [{ reportedBy: 'browser', row: { visitor_id: here?.visitor_id } }],
    'the store is asked about earlier views',
  )
  t.strictSame([viewMemory.hasBrowserHits(1), viewMemory.hasBrowserHits(2)], [true, false])
  t.equal(classify(hitAt(3, { pathname: '/b' })).additions.length, 1, 'later views are in memory')
  t.equal(
    classify(hitAt(29.9, { pathname: '/c' })).unmatchedViews.length,
    1,
    'the store is asked for half an hour after the first hit',
  )
  t.equal(classify(hitAt(32.1, { pathname: '/d' })).unmatchedViews.length, 0, 'and no longer')
  t.equal(
    classify(view(33, ON_TWO), hitAt(33.1, { ...ON_TWO, site: 2 })).rows.events.length,
    1,
    'within one batch memory suffices',
  )
  const nobody = createViewMemory()
  startWithMemory({}, nobody)(hitAt(0, { site: 9 }))
  t.notOk(nobody.hasBrowserHits(9), 'a site that does not exist')
})
