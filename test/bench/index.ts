/** `npm run bench -- <name>`: each prints its own table. */
const [name, ...rest] = process.argv.slice(2)
const benches: Record<string, () => Promise<{ run(args: string[]): Promise<void> }>> = {
  proxy: () => import('./proxy.js'),
  soak: () => import('./soak.js'),
  ingest: () => import('./ingest.js'),
  import: () => import('./import.js'),
  policy: () => import('./policy.js'),
  reads: () => import('./reads.js'),
  engines: () => import('./engines.js'),
  migrate: () => import('./migrate.js'),
  identify: () => import('./identify.js'),
  ranges: () => import('./ranges.js'),
  rules: () => import('./rules.js'),
  export: () => import('./export.js'),
  expected: () => import('./expected.js'),
  umami: () => import('./umami.js'),
  beside: () => import('./beside.js'),
  track: () => import('./track.js'),
  dashboard: () => import('./dashboard.js'),
  crowd: () => import('./crowd.js'),
  auth: () => import('./auth.js'),
  size: () => import('./size.js'),
  truth: () => import('./truth.js'),
  idle: () => import('./idle.js'),
  samples: () => import('./samples.js'),
  start: () => import('./start.js'),
  suspected: () => import('./suspected.js'),
}
const load = benches[name ?? '']
if (load === undefined) {
  console.error(`usage: npm run bench -- ${Object.keys(benches).join('|')}`)
  process.exitCode = 2
} else {
  await (await load()).run(rest)
}
