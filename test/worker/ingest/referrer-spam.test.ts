import t from 'tap'
import { createReferrerSpam } from '../../../src/worker/ingest/referrer-spam.js'
import { openReads } from '../../fixtures/ask-reads.js'
import { classifier, site, view } from '../../fixtures/page-classifier.js'

t.test('finds hosts of the list, what the operator adds, and not what the operator takes off', async (t) => {
  const shipped = createReferrerSpam({ spam_referrers: [], trusted_referrers: [] })
  const changed = createReferrerSpam({
    spam_referrers: ['spam.example', 'good.semalt.com', 'www.seo.example'],
    trusted_referrers: ['semalt.com', 'sub.spam.example', 'www.7makemoneyonline.com'],
  })
  const rows: [host: string, shipped: boolean, changed: boolean, why: string][] = [
    ['semalt.com', true, false, 'on the list, and taken off'],
    ['www1.semalt.com', true, false, 'below it'],
    ['good.semalt.com', true, true, 'added below a host that was taken off'],
    ['notsemalt.com', false, false, 'a longer name'],
    ['semalt.com.example', false, false, 'a name that only begins so'],
    ['qiwi.xyz', true, true, 'written in capitals in the public list'],
    ['spam.example', false, true, 'added'],
    ['a.b.spam.example', false, true, 'below it'],
    ['sub.spam.example', false, false, 'taken off below an added host'],
    ['seo.example', false, true, 'added with the www. that a referrer is read without'],
    ['7makemoneyonline.com', true, false, 'taken off with it'],
    ['com', false, false, 'no ending is on the list'],
    ['google.com', false, false, 'a search engine'],
    ['', false, false, 'no host'],
  ]
  for (const [host, isShipped, isChanged, why] of rows)
    t.strictSame([shipped(host), changed(host)], [isShipped, isChanged], `${host}: ${why}`)
})

t.test('a visit with spam as its referrer counts as what it is otherwise, and can be counted', async (t) => {
  const visits: [referrer: string | undefined, query: string, source: string | null, channel: string][] = [
    ['https://semalt.com/crawler', '', null, 'Direct'],
    ['https://www.buttons-for-website.com/', '', null, 'Direct'],
    ['https://semalt.com/', 'utm_source=newsletter&utm_medium=email', 'newsletter', 'Email'],
    ['https://semalt.com/', 'gclid=1', 'Google', 'Paid Search'],
    ['android-app://semalt.com/', '', 'semalt.com', 'Referral'],
    ['https://www.google.com/', '', 'Google', 'Organic Search'],
    ['https://a.example/', '', null, 'Direct'],
    ['https://checkout.stripe.com/', '', null, 'Direct'],
    [undefined, '', null, 'Direct'],
  ]
  const { rows, drops } = classifier([{ ...site, domains: ['a.example'] }]).classify(
    visits.map(([referrer, query], i) => ({
      ...{ ...view, ip: `198.51.100.${i}`, query },
      ...(referrer === undefined ? {} : { referrer }),
    })),
  )
  t.strictSame(drops, {}, 'no visit is dropped')
  t.strictSame(
    rows.events.map(({ source, channel }) => [source, channel]),
    visits.map(([, , source, channel]) => [source, channel]),
  )
  const ask = await openReads(t, rows, new Date('2026-11-21T12:00:00Z'))
  const { data } = await ask('breakdown', 'site=1&range=7d&dimension=referrer_spam')
  t.match(data, [
    { value: false, sessions: 7 },
    { value: true, sessions: 2 },
  ])
  const filters = encodeURIComponent(JSON.stringify([{ dimension: 'referrer_spam', op: 'is', value: true }]))
  const spam = await ask('breakdown', `site=1&range=7d&dimension=referrer&filters=${filters}`)
  t.match(
    spam.data,
    [
      { value: 'https://semalt.com/crawler', sessions: 1 },
      { value: 'https://www.buttons-for-website.com/', sessions: 1 },
    ],
    'the operator sees which hosts they are',
  )
})
