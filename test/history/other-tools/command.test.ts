import { readFileSync, writeFileSync } from 'node:fs'
import { zipSync } from 'fflate'
import t from 'tap'
import { z } from 'zod'
import { NewHistory } from '../../../src/manage/other-tools.js'
import { command } from '../../fixtures/command.js'
import { directory } from '../../fixtures/files.js'
import { dataDir } from '../../fixtures/instance.js'

const SAMPLES = 'test/fixtures/exports'

t.test('an export is shown, added, listed and deleted', async (t) => {
  const data = dataDir(t)
  const run = (...args: string[]) => command(...args, '--data', data)
  const site = await run('sites', 'create', '--name', 'A', '--domain', 'a.example', '--timezone', 'Europe/Berlin')
  t.equal(site.code, 0, site.stderr)
  const zip = `${t.testdir({
    'export.zip': Buffer.from(
      zipSync(
        Object.fromEntries(
          ['plausible-imported_visitors.csv', 'plausible-imported_pages.csv'].map((name) => [
            name,
            readFileSync(`${SAMPLES}/${name}`),
          ]),
        ),
      ),
    ),
  })}/export.zip`
  const { id } = z.object({ id: z.number() }).parse(JSON.parse((await run('sites', 'list', '--json')).stdout).at(-1))
  const own = ['--site', String(id)]
  const shown = await run('history', 'add', zip, ...own, '--dry-run')
  t.equal(
    shown.stdout,
    [
      'plausible-imported_visitors.csv: Plausible export, imported_visitors (columns date, visitors, pageviews, bounces, visits, visit_duration), 21 rows',
      'plausible-imported_pages.csv: not used, it has neither totals of days nor pages',
      '21 days from 2024-03-11 to 2024-03-31: 1,326 visitors, 1,603 visits, 5,966 pageviews',
      '',
    ].join('\n'),
  )
  t.match((await run('history', 'list', ...own)).stdout, /^None\./)
  const added = await run('history', 'add', zip, ...own)
  const undo = `\nAdded 21 days as 1; to undo it: readership history delete 1 --site 2 --data ${data}\n`
  t.equal(added.stdout.slice(-undo.length), undo)
  const again = await run('history', 'add', zip, ...own)
  t.match(again, { code: 1, stderr: 'error: The site has every one of these days already.\n' })
  const more = await run('history', 'add', `${SAMPLES}/umami-website_event.csv`, ...own, '--from', 'umami')
  t.match(more.stdout, /20 rows, 1 not counted, 2 broken\n4 days .*\n3 days left out: .*\nAdded 1 day as 2;/s)
  t.match(
    (await run('history', 'list', ...own)).stdout,
    /^ *ID .*\n *1 +Plausible +21 +2024-03-11 +2024-03-31 .*\n *2 +Umami +1 /,
  )
  const overview = await run('stats', '--report', 'overview', ...own, '--range', 'all', '--json')
  t.match(overview.stdout, /"visitors": 1328/)
  t.match(overview.stdout, /imported_history/)
  t.equal((await run('history', 'delete', '1', ...own)).stderr, 'Deleted history 1.\n')
  t.match(await run('history', 'delete', '1', ...own), { code: 1, stderr: 'error: There is no such history.\n' })
  const pages = `${directory(t)}/pages.csv`
  writeFileSync(pages, 'Page,Citations\nhttps://a.example/x,1204\nhttps://a.example/y,6\n')
  const counted = await run('history', 'add', pages, ...own, '--period', '2026-10-01..2026-10-31')
  t.match(counted.stdout, /\n2 pages from 2026-10-01 to 2026-10-31: 1,210 citations\nAdded 2 pages as 3; /)
  t.match((await run('history', 'list', ...own)).stdout, /\n *3 +Bing Webmaster Tools +31 +2 +2026-10-01 /)
  const day = (day: string, bounces: number) => ({ day, visitors: 3, visits: 2, pageviews: 4, bounces, seconds: 5 })
  for (const [file, message, why] of [
    [
      'date,visitors,pageviews,bounces,visits,visit_duration\n2099-01-01,1,1,1,1,1\n',
      /2099-01-01 is in the future: today is/,
      'a day of the future',
    ],
  ] as const)
    t.match(
      await run('history', 'add', `${t.testdir({ 'a.csv': file })}/a.csv`, ...own),
      { code: 2, stderr: message },
      why,
    )
  t.throws(
    () => NewHistory.parse({ tool: 'A', days: [day('2024-01-01', 3)] }),
    /must not exceed/,
    'more bounces than visits',
  )
  t.equal(NewHistory.parse({ tool: 'A', days: [day('2024-01-01', 2)] }).days.length, 1)
  for (const [changed, why] of [
    [{ tool: 'A\0' }, 'NUL in the name of a tool'],
    [{ files: ['a\r\nb'] }, 'a line break in the name of a file'],
  ] as const)
    t.equal(NewHistory.safeParse({ tool: 'A', days: [day('2024-01-01', 1)], ...changed }).success, false, why)
  const faults: [args: string[], code: number, message: RegExp][] = [
    [['add', pages, ...own, '--period', '2026-10-31..2026-11-02'], 1, /already: delete addition 3 first/],
    [['add', pages, ...own, '--period', '2026-10-01..2099-01-01'], 2, /2099-01-01 is in the future/],
    [['add', pages, ...own, '--period', '2026-11-02..2026-11-01'], 2, /--period: must be two days/],
    [['add', zip, '--from', 'piwik'], 2, /--from: must be one of plausible, umami/],
    [
      ['add', `${SAMPLES}/plausible-imported_pages.csv`, ...own],
      1,
      /plausible-imported_pages\.csv: no file has the columns/,
    ],
    [['add', '/nowhere.csv', ...own], 1, /\/nowhere\.csv cannot be read/],
    [['add', zip, '--site', '99'], 1, /site/],
    [['delete', 'x'], 2, /x is not the ID of a history/],
  ]
  for (const [args, code, message] of faults)
    t.match(await run('history', ...args), { code, stderr: message }, args.join(' '))
})
