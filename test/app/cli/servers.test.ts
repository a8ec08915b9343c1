import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { runProgram } from '../../../src/app/cli/index.js'
import { command } from '../../fixtures/command.js'
import { directory } from '../../fixtures/files.js'
import { dataDir, eventually, GPTBOT, startInstance, startOrigin } from '../../fixtures/instance.js'

t.test('a signal during the start closes what is open, in order', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const ports = ['--host', '127.0.0.1', '--port', '0']
  for (const [command, when, why] of [
    [['serve', ...ports], /listening: dashboard and API http:\/\/127\.0\.0\.1:\d+\/,/, 'as soon as it listens'],
    [
      ['proxy', origin.url, ...ports, '--admin-port', '0'],
      /, dashboard and API http:\/\/127\.0\.0\.1:\d+\/,/,
      'as soon as it listens',
    ],
    [['serve', ...ports], undefined, 'while the store is opened'],
  ] as const) {
    const data = directory(t)
    const listeners: (() => void)[] = []
    let output = ''
    const sendSignal = () => {
      t.equal(listeners.length, 1, `${command[0]}: ${why}`)
      for (const listener of listeners.splice(0)) listener()
    }
    const ended = runProgram([...command, '--data', data, '--offline'], {
      out(text) {
        output += text
        if (when?.test(text)) sendSignal()
      },
      err: (text) => {
        output += text
      },
      colour: false,
      version: '1.2.3',
      pid: 1,
      env: {},
      onSignal: (name, listener) => name === 'SIGTERM' && listeners.push(listener),
      onUncaughtError: () => {},
      exit: (code) => {
        throw new Error(`exit ${code}`)
      },
    })
    if (when === undefined) setImmediate(sendSignal)
    t.equal(await ended, 0, output)
    t.match(output, /"stopped"/)
    t.notOk(existsSync(join(data, 'control.sock')))
    t.notOk(existsSync(join(data, 'events.duckdb.wal')), 'the write-ahead log was checkpointed')
  }
})

t.test('a setting that cannot be used ends the start with one line', async (t) => {
  const file = join(directory(t), 'missing')
  for (const [flag, expected] of [
    ['--pdf-font', `--pdf-font: cannot read ${file}`],
    ['--geoip', `geo file ${file} cannot be read`],
    ['--ranges', file],
  ] as const) {
    const { code, stderr } = await command('serve', '--port', '0', '--data', dataDir(t), flag, file)
    t.equal(code, 1, flag)
    t.ok(stderr.includes(expected) && stderr.trimEnd().split('\n').length === 1, stderr)
  }
})

t.test('tail says that the instance has stopped', async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const data = dataDir(t)
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const instance = await startInstance(origin.url, data)
    t.teardown(() => instance.stop('SIGKILL'))
    const follow = spawn(process.execPath, ['dist/bin/readership.js', 'tail', '--data', data])
    const stderr = text(follow.stderr)
    const closed = once(follow, 'close')
    let printed = ''
    follow.stdout.on('data', (chunk) => {
      printed += chunk
    })
    await eventually('tail prints a row', async () => {
      await fetch(`${instance.site}/page`, { headers: { 'user-agent': GPTBOT } })
      return printed.includes('/page')
    })
    await instance.stop(signal)
    const [code] = await closed
    t.strictSame([code, await stderr], [0, 'The instance has stopped.\n'], signal)
  }
})
