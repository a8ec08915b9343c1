/** `npm run bench -- proxy|soak|ingest|ranges`: each prints its own table. */
const [name, ...rest] = process.argv.slice(2)
const benches: Record<string, () => Promise<{ run(args: string[]): Promise<void> }>> = {
  proxy: () => import('./proxy.js'),
  soak: () => import('./soak.js'),
  ingest: () => import('./ingest.js'),
  ranges: () => import('./ranges.js'),
}
const load = benches[name ?? '']
if (load === undefined) {
  console.error(`usage: npm run bench -- ${Object.keys(benches).join('|')}`)
  process.exitCode = 2
} else {
  await (await load()).run(rest)
}
