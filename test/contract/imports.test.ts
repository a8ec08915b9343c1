import t, { type Test } from 'tap'
import { type ClickHouseServer, noChdb, noServer, realServer, startClickHouse } from '../fixtures/clickhouse-server.js'
import { openClickHouseWriter, openInterruptible } from '../fixtures/clickhouse-store.js'
import { whole } from './engine-reads.js'
import { importContract } from './import-contract.js'
import { interruptedUndo, undoContract } from './undo-contract.js'

const checkServer = (start: (t: Test) => ClickHouseServer | Promise<ClickHouseServer>) => async (t: Test) => {
  const server = await start(t)
  const open = async (t: Test) => openClickHouseWriter(t, await server.createDatabase())
  undoContract(t, open, whole ? 40 : 2)
  importContract(t, open, whole ? 40 : 2)
  t.test('undoing an import may be interrupted anywhere', async (t) =>
    interruptedUndo(t, await openInterruptible(t, server)),
  )
}

t.test('ClickHouse in a process of its own', { skip: noChdb }, checkServer(startClickHouse))
t.test('a real ClickHouse server', { skip: noServer }, checkServer(realServer))
