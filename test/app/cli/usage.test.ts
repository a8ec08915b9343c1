import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { command } from '../../fixtures/command.js'
import { dataDir } from '../../fixtures/instance.js'

t.test('wrong usage and failures: one line on standard error, and the exit code', async (t) => {
  const data = dataDir(t)
  const file = join(data, '..', 'bad.yaml')
  const long = join(data, 'x'.repeat(100))
  writeFileSync(file, 'port: 1\nprot: 2\n')
  const rows: [string[], number, RegExp, string][] = [
    [['nosuch'], 2, /unknown command 'nosuch'/, 'unknown command'],
    [['stat'], 2, /did you mean stats/i, 'near a command'],
    [['tail', '--jsn'], 2, /unknown option '--jsn'.*did you mean --json/i, 'near a flag'],
    [['proxy', 'http://localhost:1', '--collector', 'http://x'], 2, /--collector needs .*--ingest-key-file/, 'no key'],
    [['proxy', '--data', data], 2, /origin is missing/, 'no origin'],
    [['proxy', 'http://localhost:1', 'http://localhost:2'], 2, /too many arguments/, 'two origins'],
    [
      ['proxy', 'http://localhost:1', '--port', 'web', '--data', data],
      2,
      /^error: --port must be a whole number/,
      'bad port',
    ],
    [['proxy', 'http://localhost:1', '--tls-cert', 'x', '--data', data], 2, /--tls-key/, 'half a pair'],
    [
      ['proxy', 'http://localhost:1', '--tls-cert', '/no/c.pem', '--tls-key', '/no/k.pem', '--data', data],
      1,
      /tls-cert: cannot read \/no\/c\.pem/,
      'no such certificate',
    ],
    [
      ['proxy', 'http://localhost:1', '--config', file],
      2,
      /bad\.yaml:2: prot is not a setting; did you mean port/,
      'settings file',
    ],
    [
      ['proxy', 'http://localhost:1', '--config', '/no/such.yaml'],
      2,
      /such\.yaml: no such configuration file/,
      'no file',
    ],
    [['tail', '-n', 'x'], 2, /^error: -n: must be a number of rows/, 'bad number'],
    [['tail', '--audience', 'cats'], 2, /^error: --audience: must be human, agent or all/, 'bad audience'],
    [['proxy', 'http://localhost:8080', '--data', data], 2, /own address/, 'a loop'],
    [['keys', 'create', '--data', data], 2, /^error: --name: is missing/, 'no name'],
    [['keys', 'revoke', 'x', '--data', data], 2, /x is not the ID of a key/, 'no ID'],
    [['keys', 'revoke'], 2, /missing required argument 'id'/, 'nothing to revoke'],
    [['keys', 'list', '--data', data], 1, /^error: No data in .*: start `readership proxy` first/, 'nothing there'],
    [['tail', '--data', data], 1, /No data in/, 'nothing there'],
    [['stats', '--data', data], 1, /No data in/, 'nothing there'],
    [['status', '--data', data], 1, /^error: No instance runs on /, 'nothing runs'],
    [['proxy', 'http://localhost:1', '--data', long], 1, /x\/control\.sock is too long for a socket/, 'a long path'],
    [['serve', '--data', long], 1, /x\/control\.sock is too long for a socket/, 'a long path'],
    [['keys', 'create', '--name', 'x', '--data', long], 1, /x\/control\.sock is too long/, 'a long path'],
    [['tail', '--data', long], 1, /x\/control\.sock is too long/, 'a long path'],
    [
      ['backup', join(data, 'bdir'), '--data', data],
      2,
      /bdir does not exist: a file or a directory\?.*bdir\.tar.*mkdir/,
      'not there',
    ],
    [['stats', '--output', 'x.doc'], 2, /^error: --output: must end in \.csv or \.pdf, which/, 'no format'],
    [['report', 'x', '--output', 'x'], 2, /^error: --output: must end in \.html, \.csv or \.json, which/, 'no format'],
    [['agents', '--range', 'ever'], 2, /^error: --range: must be today, .* or all\.$/m, 'no range'],
    [
      ['export', '--table', 'events', '--range', 'ever'],
      2,
      /^error: --range: must be today, .* or all\.$/m,
      'no range',
    ],
    [['agents', 'identify', 'x', '--ip', 'y'], 2, /^error: --ip: must be an IP address/, 'no address'],
  ]
  for (const [args, code, says, why] of rows) {
    const result = await command(...args)
    t.equal(result.code, code, `${why}: exit code`)
    t.match(result.stderr, says, why)
    t.match(result.stderr, /^[^\n]+\n$/, `${why}: one line`)
    t.equal(result.stdout, '', `${why}: nothing on standard output`)
  }
  t.throws(() => statSync(data), { code: 'ENOENT' }, 'no directory was created')
})
