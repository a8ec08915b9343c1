import { appendFileSync, renameSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { followLog } from '../../../src/history/access-logs/follow.js'

t.test('a log is followed over rotations', { timeout: 30_000 }, async (t) => {
  const path = join(t.testdir({ 'access.log': 'before\none\ntw' }), 'access.log')
  const end = new AbortController()
  const lines: string[] = []
  const follow = (async () => {
    for await (const chunk of followLog(path, { from: 7, interval: 20, signal: end.signal })) lines.push(...chunk.lines)
  })()
  const seen = async (...expected: string[]) => {
    while (lines.length < expected.length) await new Promise((resolve) => setTimeout(resolve, 20))
    t.same(lines.splice(0), expected)
  }
  await seen('one')
  appendFileSync(path, 'o\n')
  await seen('two')

  renameSync(path, `${path}.1`)
  appendFileSync(`${path}.1`, 'last of the old\nunended')
  writeFileSync(path, 'first of the new\n')
  await seen('last of the old', 'unended', 'first of the new')

  truncateSync(path)
  await new Promise((resolve) => setTimeout(resolve, 60))
  appendFileSync(path, 'after a truncation\n')
  await seen('after a truncation')

  unlinkSync(path)
  await new Promise((resolve) => setTimeout(resolve, 60))
  writeFileSync(path, 'after a gap\n')
  await seen('after a gap')
  end.abort()
  await follow
  t.same(lines, [])
})

t.test('a log that does not exist yet is waited for', { timeout: 30_000 }, async (t) => {
  const path = join(t.testdir(), 'access.log')
  const end = new AbortController()
  setTimeout(() => writeFileSync(path, 'one\n'), 100)
  for await (const { lines, bytesRead } of followLog(path, { interval: 20, signal: end.signal })) {
    t.same([lines, bytesRead], [['one'], 4])
    end.abort()
  }
})
