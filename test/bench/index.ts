/** `npm run bench -- proxy|ingest`: each prints its own table. */
const [name, ...rest] = process.argv.slice(2)
const benches: Record<string, () => Promise<{ run(args: string[]): Promise<void> }>> = {
  proxy: () => import('./proxy.js'),
  // Not a literal: the two benches are built apart, and one must start without the other.
  ingest: () => import(new URL('./ingest.js', import.meta.url).href),
}
const load = benches[name ?? '']
if (load === undefined) {
  console.error(`usage: npm run bench -- ${Object.keys(benches).join('|')}`)
  process.exitCode = 2
} else {
  await (await load()).run(rest)
}
