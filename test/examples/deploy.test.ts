import { spawnSync } from 'node:child_process'
import t from 'tap'

const has = (program: string, ...words: string[]) => spawnSync(program, words).error === undefined

t.test(
  'the systemd unit is well formed and hardened',
  { skip: has('systemd-analyze', '--version') ? false : 'no systemd here' },
  async (t) => {
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', 'examples/nginx-systemd/readership.service'], {
      encoding: 'utf8',
    })
    t.same([status, stderr], [0, ''])
    const security = ['security', '--offline=true', '--threshold=15', 'examples/nginx-systemd/readership.service']
    const hardening = spawnSync('systemd-analyze', security, { encoding: 'utf8' })
    t.equal(hardening.status, 0, `an exposure of at most 1.5: ${hardening.stdout.trim().split('\n').at(-1)}`)
  },
)
