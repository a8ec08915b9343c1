import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { command } from '../fixtures/command.js'
import { dataDir } from '../fixtures/instance.js'

t.test('doctor says where an exposed dashboard lacks HTTPS', async (t) => {
  const rows: [settings: string, expected: string | undefined, why: string][] = [
    ['', undefined, 'the default is not exposed'],
    ['expose: [ingest]', undefined, 'nor is it with the rows of other servers'],
    ['expose: [api]', '! dashboard: http://0.0.0.0:8080/_readership/ is open to other machines', 'every address'],
    ["expose: [api]\nhost: '::'", '! dashboard: http://[::]:8080/_readership/', 'every address of IPv6'],
    ["expose: [api]\nhost: '::1'", '✓ dashboard: http://[::1]:8080/_readership/ is open to this', 'loopback of IPv6'],
    ['expose: [api]\npublic_url: http://a.com', '! dashboard: http://0.0.0.0:8080/', 'a public URL in clear text'],
    ['expose: [api]\npublic_url: https://a.com/r', '✓ dashboard: https://a.com/r/ has HTTPS', 'HTTPS in front'],
    [
      'expose: [api]\ntls_cert: c\ntls_key: k\nbase_path: /r',
      '✓ dashboard: https://0.0.0.0:8080/r/ has HTTPS',
      'HTTPS of its own',
    ],
  ]
  const data = dataDir(t)
  const config = join(data, '..', 'doctor.yaml')
  for (const [settings, expected, why] of rows) {
    writeFileSync(config, `${settings}\n`)
    const { stdout } = await command('doctor', '--data', data, '--offline', '--config', config)
    const line = stdout.split('\n').find((each) => each.includes(' dashboard: '))
    t.equal(expected === undefined ? line : line?.slice(0, expected.length), expected, why)
  }
})
