import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t, { type Test } from 'tap'
import { command } from '../../fixtures/command.js'
import { dataDir, startInstance, startOrigin } from '../../fixtures/instance.js'

/** Starts `readership mcp` on a data directory and connects to it, as an AI program does. */
async function connect(t: Test, data: string, ...flags: string[]) {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  const args = ['dist/bin/readership.js', 'mcp', '--data', data, ...flags]
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'inherit' }))
  t.teardown(() => client.close())
  const call = async (name: string, given: Record<string, unknown>) => {
    const { content, isError } = await client.callTool({ name, arguments: given })
    const [first] = content
    if (first?.type !== 'text') throw new Error('no text')
    return isError ? { error: first.text } : JSON.parse(first.text)
  }
  return { client, call }
}

t.test('a program on this machine asks the running instance, and one that has stopped', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const running = await startInstance(origin.url, dataDir(t))
  t.teardown(() => running.stop())
  const { client, call } = await connect(t, running.data)
  t.equal(client.getNegotiatedProtocolVersion(), '2026-07-28')
  t.match(await call('list', { what: 'sites' }), { data: [{ id: 1 }], requests: ['/api/sites'] })
  t.match(await call('ask', { report: 'overview', range: '7d' }), {
    warnings: [/Nothing was recorded/],
    dashboard: /^http/,
  })
  t.match(await call('ask', { report: 'overviews' }), { error: /did you mean overview\?/ })
  const { tools } = await client.listTools()
  t.notOk(
    tools.find(({ name }) => name === 'add_note'),
    'read-only unless it is asked for',
  )
  await client.close()
  await running.stop()
  const writing = await connect(t, running.data, '--write')
  t.match(await writing.call('add_note', { at: '2026-11-20', text: 'Deployed' }), { data: { text: 'Deployed' } })
})

t.test('a directory without data is named on standard error, and nothing else is on standard output', async (t) => {
  const { code, stdout, stderr } = await command('mcp', '--data', `${dataDir(t)}-none`)
  t.equal(code, 1)
  t.equal(stdout, '')
  t.match(stderr, /No data in/)
})
