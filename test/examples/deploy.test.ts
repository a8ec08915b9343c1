import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'

const has = (program: string, ...words: string[]) => spawnSync(program, words).error === undefined

t.test(
  'the systemd unit is well formed',
  { skip: has('systemd-analyze', '--version') ? false : 'no systemd here' },
  async (t) => {
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', 'examples/nginx-systemd/readership.service'], {
      encoding: 'utf8',
    })
    t.same([status, stderr], [0, ''])
  },
)

/** Instructions that the Dockerfile reference knows, as far as ours uses them. */
t.test('the container is built from what the repository has', async (t) => {
  const lines = readFileSync('examples/container/Dockerfile', 'utf8').split('\n')
  const words = lines.filter((line) => /^[A-Z]/.test(line)).map((line) => line.split(' '))
  t.same(
    words.filter(
      ([instruction]) =>
        !/^(FROM|ENV|WORKDIR|COPY|RUN|USER|VOLUME|EXPOSE|STOPSIGNAL|HEALTHCHECK|ENTRYPOINT)$/.test(instruction ?? ''),
    ),
    [],
  )
  const entry: string[] = JSON.parse(lines.find((line) => line.startsWith('ENTRYPOINT'))?.slice(11) ?? '[]')
  t.equal(entry[1], 'dist/bin/readership.js')
  const { bin, scripts }: { bin: Record<string, string>; scripts: Record<string, string> } = JSON.parse(
    readFileSync('package.json', 'utf8'),
  )
  t.equal(bin.readership, `./${entry[1]}`, 'the program it starts is the package’s')
  t.ok(scripts.build, 'and there is a build to run')
})
