import t from 'tap'
import { sql } from '../../../src/storage/sql.js'
import { DAY, MINUTE, NOW, openNotes } from '../../fixtures/notes.js'

/** Responses since the last minute: `app-a 10` are ten with `/app-a.js`. */
const parse = (served: string, at: number) =>
  served.split(', ').map((one) => {
    const [, name = '', hash = '', count = ''] = /^(\w+)-(\w+) (\d+)$/.exec(one) ?? []
    return { pathname: `/${name}-${hash}.js`, stem: `/${name}-*.js`, hash, at, count: Number(count) }
  })
const note = (minute: number, text: string) => `deployment ${minute} Probably a deployment: ${text}`
const ONE = '1 new script or style'
const RESTART = 'restart'

t.test('new names of scripts are one note for each deployment', async (t) => {
  const rows: [steps: [minute: number, served: string][], notes: string[], why: string][] = [
    [[[0, 'app-a 50']], [], 'the first name'],
    [
      [
        [0, 'app-a 10'],
        [1, 'app-b 5'],
      ],
      [note(1, ONE)],
      'another name',
    ],
    [
      [
        [0, 'app-a 9'],
        [1, 'app-b 50'],
      ],
      [],
      'the one before was seen nine times',
    ],
    [
      [
        [0, 'app-a 10'],
        [1, 'app-b 4'],
      ],
      [],
      'too few of the new name',
    ],
    [
      [
        [0, 'app-a 10'],
        [1, 'app-b 4'],
        [9, 'app-a 1, app-b 1'],
      ],
      [note(1, ONE)],
      'few visits: the note is at the first of them',
    ],
    [
      [
        [0, 'app-a 10'],
        [1, 'app-b 5'],
        [2, 'app-a 3'],
        [3, 'app-b 5'],
        [20, 'app-a 30'],
        [40, 'app-b 30'],
      ],
      [note(1, ONE)],
      'old pages ask for the old name',
    ],
    [
      [
        [0, 'app-a 10'],
        [1, 'app-a 30, app-b 10'],
        [2, 'app-a 30, app-b 20'],
        [3, 'app-a 2, app-b 30'],
      ],
      [note(1, ONE)],
      'one server after the other',
    ],
    [
      [
        [0, 'app-a 10'],
        [1, 'app-a 10, app-b 10'],
      ],
      [],
      'as often as the old name',
    ],
    [
      [
        [0, 'app-a 10'],
        [1, 'app-a 20, app-b 4'],
        [2, 'app-a 20, app-b 4'],
        [3, 'app-a 1, app-b 1'],
      ],
      [],
      'what was counted beside so many of the old name says nothing later',
    ],
    [
      [
        [0, 'app-a 10'],
        [1, 'app-b 5'],
        [30, 'app-c 5'],
      ],
      [note(1, ONE), note(30, ONE)],
      'two deployments',
    ],
    [
      [
        [0, 'app-a 10, css-a 10'],
        [1, 'app-b 5'],
        [11, 'css-b 5'],
      ],
      [note(1, '2 new scripts or styles')],
      'two names within ten minutes',
    ],
    [
      [
        [0, 'app-a 10, cart-a 10'],
        [12, 'app-b 5'],
        [300, 'cart-b 5'],
      ],
      [note(12, '2 new scripts or styles')],
      'a name that few pages load, first asked for hours later',
    ],
    [
      [
        [0, 'app-a 10, cart-a 10'],
        [12, 'app-b 5'],
        [100, 'cart-a 1'],
        [300, 'cart-b 5'],
      ],
      [note(12, ONE), note(300, ONE)],
      'the name was asked for in between: another deployment',
    ],
    [
      [
        [0, 'app-a 5, app-b 5'],
        [1, 'app-a 9'],
        [2, 'app-b 9'],
        [3, 'app-a 9'],
      ],
      [],
      'two parts of the site with one name',
    ],
    [
      [
        [0, 'app-a 10'],
        [1, 'app-a 20, app-b 1'],
        [70, 'app-a 20, app-b 1'],
        [80, 'app-b 9'],
      ],
      [],
      'a part of the site that was first visited later, and was there beside the other for an hour',
    ],
    [
      [
        [0, 'app-a 10'],
        [1, RESTART],
        [2, 'app-b 5'],
        [3, RESTART],
        [4, 'app-a 9, app-b 9'],
        [5, RESTART],
        [30, 'app-c 5'],
      ],
      [note(2, ONE), note(30, ONE)],
      'a deployment restarts readership with the site',
    ],
    [
      [
        [0, 'app-a 10, cart-a 10'],
        [12, 'app-b 5'],
        [13, RESTART],
        [300, 'cart-b 5'],
      ],
      [note(12, '2 new scripts or styles')],
      'a name that few pages load, after a restart',
    ],
  ]
  const { records, pass, list, restart } = await openNotes(t)
  for (const [i, [steps, notes, why]] of rows.entries()) {
    // A day of its own for each row, and a site without names.
    const day = NOW + i * 2 * DAY
    await records.write(sql`delete from asset_names`)
    restart()
    for (const [minute, served] of steps) {
      const at = day + minute * MINUTE
      if (served === RESTART) restart()
      else await pass(at, { assets: parse(served, at) })
    }
    t.same(await list(day), notes, why)
  }
})

t.test('a note has the paths, and stays deleted', async (t) => {
  const { records, pass, annotations, restart } = await openNotes(t)
  await pass(NOW, { assets: parse('app-a 10, css-a 10', NOW) })
  await pass(NOW + 1, { assets: parse('app-b 5', NOW + 1) })
  const [first] = await annotations().list(1)
  t.same(first?.data, { assets: ['/app-b.js'] })
  await records.write(sql`delete from annotations`)
  restart()
  await pass(NOW + 2, { assets: parse('css-b 5', NOW + 2) })
  t.same(await annotations().list(1), [])
})

t.test('made-up names make no notes, and are not kept', async (t) => {
  const { records, pass, list } = await openNotes(t)
  await pass(NOW, { assets: parse('app-a 10', NOW) })
  for (let n = 0; n < 300; n++) {
    const at = NOW + n * MINUTE
    const madeUp = Array.from({ length: 40 }, (_, i) => `app-x${n}y${i} 1, n${n}m${i}-a 1`).join(', ')
    await pass(at, { assets: parse(`${madeUp}, app-a 1`, at) })
  }
  t.same(await list(), [])
  const [row] = await records.query(sql`select names from asset_names`)
  t.ok(String(row?.names).length < 100 * 100)

  // Each of twenty names within a day replaces the one before.
  for (let n = 0; n < 20; n++) {
    const at = NOW + DAY + n * 60 * MINUTE
    await pass(at, { assets: parse(`app-z${n} 50`, at) })
  }
  t.equal((await list(NOW + DAY + 10 * 60 * MINUTE)).length, 10, 'at most ten a day')
})
