import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { z } from 'zod'
import { sql } from '../../src/storage/sql.js'
import { directory } from '../fixtures/files.js'
import { openStoreAt } from '../fixtures/store.js'
import { startWriter } from '../fixtures/writer-process.js'

/*
 * The attack: a process that records views of a few people is killed with -9 at random moments, during commits and during
 * checkpoints. Each view is reported twice, by the server and by the browser, in either order, in one commit or in two. The
 * next process records the halves again that were not acknowledged. The attack succeeds if a view has two rows, if an
 * acknowledged half is missing from its row, or if the store reports a loss.
 */

const Row = z.object({ pathname: z.string(), status: z.number().nullable(), props: z.string().nullable() })

t.test(
  'after kill -9 at any moment each view is one row, complete once both halves are acknowledged',
  { timeout: 600_000 },
  async (t) => {
    const file = join(directory(t), 'events.duckdb')
    const acks = `${file}.acks`
    writeFileSync(acks, '')
    let halves: string[][] = []
    const acked = () => readFileSync(acks, 'utf8').split('\n').slice(0, -1)
    for (let round = 0; round < Number(process.env.KILLS ?? 4); round++) {
      const args = [file, String(round), acks, JSON.stringify(halves)]
      const child = await startWriter(t, 'view-writer-process', args)
      for (const from = acked().length; acked().length < from + 150; )
        await new Promise((resolve) => setTimeout(resolve, 20))
      await new Promise((resolve) => setTimeout(resolve, (round * 137) % 400))
      child.kill('SIGKILL')
      await once(child, 'exit')
      const store = await openStoreAt(file)
      t.strictSame(store.losses, [])
      const rows = (await store.query(sql`select pathname, status, props from events`)).map((row) => Row.parse(row))
      await store.close()
      // Rows stored and not acknowledged are not sent again, because a shipper numbers its deliveries.
      halves = rows.flatMap(({ pathname, status, props }) =>
        status !== null && props !== null ? [] : [[pathname.slice(1), status === null ? 'v' : 'h']],
      )
      const all = new Set(acked())
      const names = new Set([...all].map((line) => line.split(' ')[0] ?? ''))
      const wrong = [...names].filter((name) => {
        const mine = rows.filter(({ pathname }) => pathname === `/${name}`)
        const [row] = mine
        if (mine.length !== 1 || row === undefined) return true
        return (
          (all.has(`${name} v`) && row.status !== 200) ||
          (all.has(`${name} h`) && row.props !== JSON.stringify({ of: name }))
        )
      })
      t.strictSame(wrong, [], `round ${round}: ${all.size} acknowledged`)
      t.equal(new Set(rows.map(({ pathname }) => pathname)).size, rows.length, 'nothing twice')
    }
  },
)
