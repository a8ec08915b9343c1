/** One figure of the bench `truth`. */
export interface TruthFigure {
  /** The judgement that was counted, and the list. */
  what: string
  /** How many of `of` were right; or wrong, if `aim` is an upper bound. */
  count: number
  of: number
  /** The bound on `count / of`; undefined for a figure that is only shown. */
  aim?: { atLeast: number } | { atMost: number }
  /** The entries that were judged wrong, shown with `--list`. */
  wrong: readonly string[]
}

/** A section of the bench is a file in `truth/` with one function. */
export type TruthSection = { measure(): Promise<readonly TruthFigure[]> | readonly TruthFigure[] }

const SECTIONS: Record<string, () => Promise<TruthSection>> = {
  people: () => import('./truth/people.js'),
  agents: () => import('./truth/agents.js'),
  devices: () => import('./truth/devices.js'),
  sources: () => import('./truth/sources.js'),
}

const reachesAim = ({ count, of, aim }: TruthFigure): boolean =>
  aim === undefined || ('atLeast' in aim ? count >= aim.atLeast * of : count <= aim.atMost * of)

const aimText = ({ aim }: TruthFigure): string =>
  aim === undefined ? '' : 'atLeast' in aim ? `≥ ${percent(aim.atLeast)}` : `≤ ${percent(aim.atMost)}`

const percent = (share: number) => `${(share * 100).toFixed(3)} %`

/**
 * `npm run bench -- truth [section …] [--list]`: how often people, agents, devices and hosts that refer visitors are
 * recognised, on public lists. Exit code 1 if a figure misses its aim.
 */
export async function run(args: string[] = []): Promise<void> {
  const names = args.filter((arg) => !arg.startsWith('--'))
  for (const [name, load] of Object.entries(SECTIONS)) {
    if (names.length > 0 && !names.includes(name)) continue
    const figures = await (await load()).measure()
    console.log(name)
    console.table(
      figures.map((figure) => ({
        what: figure.what,
        count: `${figure.count} of ${figure.of}`,
        share: percent(figure.of === 0 ? 0 : figure.count / figure.of),
        aim: aimText(figure),
        reached: figure.aim === undefined ? '' : reachesAim(figure) ? 'yes' : 'no',
      })),
    )
    if (args.includes('--list'))
      for (const { what, wrong } of figures) for (const one of wrong) console.log(`${what}: ${one}`)
    if (!figures.every(reachesAim)) process.exitCode = 1
  }
}
