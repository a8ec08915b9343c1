import t from 'tap'
import { application, noFrameworks } from './fixtures/application.js'
import { drive } from './fixtures/drive.js'

const RENDERED: readonly [name: string, site: { heading: string; hasScript?: boolean }][] = [
  ['sveltekit', { heading: 'Hello from SvelteKit', hasScript: true }],
  ['astro', { heading: 'Hello from Astro' }],
  ['nuxt', { heading: 'Hello from Nuxt', hasScript: true }],
  ['react-router', { heading: 'Hello from React Router', hasScript: true }],
]
for (const [name, site] of RENDERED)
  t.test(name, { skip: noFrameworks }, async (t) => {
    await drive(t, await application(t, name), site)
  })
