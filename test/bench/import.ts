import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

/** The generator beside the repository: an access log with 57 declared agents, and the true number of lines of each. */
const GENERATOR = fileURLToPath(new URL('../../../../shared/bench/gen-log.mjs', import.meta.url))
const Expected = z.object({
  lines: z.number(),
  human_lines: z.number(),
  declared_bot_lines: z.number(),
  kinds: z.record(z.string(), z.number()),
})
const Report = z.object({
  agents: z.object({ requests: z.number(), unnamed: z.number() }),
  people: z.object({ requests: z.number() }),
})
const Panels = z.object({
  browsers: z.object({ data: z.array(z.object({ data: z.string(), hits: z.object({ count: z.number() }) })) }),
})
const RUNS = 3

/**
 * `npm run bench -- import [lines…]`: `readership report` beside GoAccess on the same generated logs (1 and 5 million lines),
 * in turns: lines a second of CPU, the least of three; peak memory (of the largest process); and how many of the declared
 * agents' lines each calls an agent. Then `readership import` of the log into an empty store, and once more, which must store
 * nothing. GoAccess and the program `time` come from the system's package manager.
 */
export async function run(sizes: string[]): Promise<void> {
  if (!existsSync(GENERATOR)) return console.log('no generator: ../shared/bench is not there')
  console.log('| lines | | lines per CPU second | peak RSS | agents found | with a name |')
  console.log(`|${'---|'.repeat(6)}`)
  for (const size of sizes.length > 0 ? sizes : ['1000000', '5000000']) {
    const { file, expected } = generate(Number(size))
    const args = { readership: ['dist/bin/readership.js', 'report', file, '--json'] }
    const panels = ['--no-global-config', '--log-format=COMBINED', '--output-format=json', '--no-progress']
    const measured = { readership: [] as Run[], goaccess: [] as Run[] }
    for (let n = 0; n < RUNS; n++) {
      measured.readership.push(measure(process.execPath, args.readership))
      measured.goaccess.push(measure('goaccess', [file, ...panels]))
    }
    const found = Report.parse(JSON.parse(measured.readership[0]?.output ?? ''))
    const named = found.agents.requests - found.agents.unnamed
    print(expected, 'readership report', measured.readership, [found.agents.requests, named])
    print(expected, 'GoAccess', measured.goaccess, crawlersOf(measured.goaccess[0]?.output ?? ''))
    const { declared_bot_lines, human_lines, kinds } = expected
    console.log(
      `report: declared agents ${declared_bot_lines}, found ${found.agents.requests}; browsers ${human_lines + (kinds.undeclared ?? 0)}, found ${found.people.requests}`,
    )
    measureImport(file, expected)
  }
}

const Imported = z.object({ human: z.number(), agent: z.number(), known: z.number(), seconds: z.number() })

function measureImport(file: string, expected: z.infer<typeof Expected>): void {
  const data = mkdtempSync(join(tmpdir(), 'readership-import-'))
  try {
    const program = (...args: string[]) => ['dist/bin/readership.js', ...args, '--data', data]
    measure(process.execPath, program('sites', 'create', '--name', 'Bench', '--domain', 'example.com'))
    for (const name of ['readership import', 'the same again']) {
      const run = measure(process.execPath, program('import', file, '--site', '2', '--json'))
      const { human, agent, known, seconds } = Imported.parse(JSON.parse(run.output))
      print(expected, name, [run], [agent])
      console.log(`${name}: ${human} views, ${agent} fetches stored, ${known} known, ${seconds.toFixed(1)} s`)
    }
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

interface Run {
  cpu: number
  rss: number
  output: string
}

function generate(lines: number) {
  const folder = join(tmpdir(), 'readership-bench')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `access-${lines}.log`)
  if (!existsSync(`${file}.expected.json`)) {
    const { status, stderr } = spawnSync(process.execPath, [GENERATOR, '--lines', `${lines}`, '--out', file])
    if (status !== 0) throw new Error(`the generator failed: ${stderr}`)
  }
  console.error(`${file}: ${Math.round(statSync(file).size / 1e6)} MB`)
  return { file, expected: Expected.parse(JSON.parse(readFileSync(`${file}.expected.json`, 'utf8'))) }
}

/** Runs a program, and returns its seconds of CPU, the most memory that it had in megabytes, and its output. */
function measure(program: string, args: readonly string[]): Run {
  const run = spawnSync('time', ['-f', '%U %S %M', program, ...args], { encoding: 'utf8', maxBuffer: 1 << 28 })
  if (run.status !== 0) throw new Error(`${program}: ${run.error?.message ?? run.stderr}`)
  const [user = 0, system = 0, kilobytes = 0] = (run.stderr.trim().split('\n').at(-1) ?? '').split(' ').map(Number)
  return { cpu: user + system, rss: kilobytes / 1024, output: run.stdout }
}

function print(
  { lines, declared_bot_lines }: z.infer<typeof Expected>,
  name: string,
  runs: Run[],
  found: number[],
): void {
  const rate = Math.round(lines / Math.min(...runs.map(({ cpu }) => cpu)))
  const rss = Math.round(Math.max(...runs.map(({ rss }) => rss)))
  const shares = found.map((n) => `${((n / declared_bot_lines) * 100).toFixed(1)} %`)
  console.log(`| ${lines} | ${name} | ${rate} | ${rss} MB | ${shares.join(' | ')} |`)
}

/** The lines that GoAccess does not call a browser's; it has names for all but those under `Unknown`. */
function crawlersOf(json: string): [number, number] {
  const { browsers } = Panels.parse(JSON.parse(json))
  const count = (name: RegExp) =>
    browsers.data.filter(({ data }) => name.test(data)).reduce((sum, { hits }) => sum + hits.count, 0)
  return [count(/^(?:crawlers|uptime|others|unknown)$/i), count(/^(?:crawlers|uptime|others)$/i)]
}
