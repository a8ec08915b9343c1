import t, { type Test } from 'tap'
import { type ClickHouseServer, noChdb, noServer, realServer, startClickHouse } from '../fixtures/clickhouse-server.js'
import { openClickHouseWriter } from '../fixtures/clickhouse-store.js'

/** Opens a store in a new database of the server. */
export const openOn = async (t: Test, server: ClickHouseServer) =>
  openClickHouseWriter(t, await server.createDatabase())

/** Has `check` declare its tests for ClickHouse in a process of its own, and for a real server if one is given. */
export function checkOnClickHouse(check: (t: Test, server: ClickHouseServer) => void): void {
  t.test('ClickHouse in a process of its own', { skip: noChdb }, async (t) => check(t, await startClickHouse(t)))
  t.test('a real ClickHouse server', { skip: noServer }, (t) => check(t, realServer(t)))
}
