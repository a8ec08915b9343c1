import t from 'tap'
import { readAssetName } from '../../../src/worker/ingest/asset-name.js'

t.test('the part of a name that changes with the content is found', async (t) => {
  const rows: [pathname: string, stem: string | undefined, why: string][] = [
    ['/app.3f9a1c2b.js', '/app.*.js', 'Parcel, webpack'],
    ['/assets/index-BX4kd9aZ.js', '/assets/index-*.js', 'Vite'],
    ['/assets/index-Bx-_d9aZ.css', '/assets/index-*.css', 'Vite: a hash may have - and _'],
    ['/assets/index-DqRkYwMa.js', '/assets/index-*.js', 'no digit, but both cases'],
    ['/main-JKQWERTZ.js', '/main-*.js', 'esbuild, Angular: no digit'],
    ['/assets/entry.client-CQx1y2z3.mjs', '/assets/entry.client-*.mjs', 'Remix'],
    ['/static/js/main.3f9a1c2b.chunk.js', '/static/js/main.*.chunk.js', 'Create React App'],
    ['/static/css/main.3f9a1c2b4d5e6f708192.min.css', '/static/css/main.*.min.css', '20 digits'],
    [`/assets/application-${'0a'.repeat(32)}.css`, '/assets/application-*.css', 'Rails: 64 digits'],
    ['/_app/immutable/entry/start.CQx1y2z3.js', '/_app/immutable/entry/start.*.js', 'SvelteKit'],
    ['/_next/static/chunks/main-0f1e2d3c4b5a6978.js', '/_next/static/chunks/main-*.js', 'Next.js'],
    ['/docs/_next/static/Xy1_b-c2d3e4f5g6h7i8j/_buildManifest.js', '/docs/_next/static/*/_buildManifest.js', 'a build'],
    ['/3f9a1c2b/app.3f9a1c2b.js', '/3f9a1c2b/app.*.js', 'the same text in a folder'],
    ['/js/bootstrap-datepicker.js', undefined, 'a word'],
    ['/js/app-Settings.js', undefined, 'a word'],
    ['/js/jquery-3.7.1.min.js', undefined, 'a version'],
    ['/js/app.js', undefined, 'no hash'],
    ['/_nuxt/BX4kd9aZ.js', undefined, 'nothing but a hash: many files of one build look alike'],
    ['/static/3f9a1c2b.chunk.js', undefined, 'nothing but a hash'],
    ['/img/logo.3f9a1c2b.png', undefined, 'a picture'],
    ['/app.3f9a1c2b.js/more', undefined, 'a folder'],
    [`/${'a'.repeat(190)}.3f9a1c2b.js`, undefined, 'too long'],
    ['', undefined, 'empty'],
  ]
  for (const [pathname, stem, why] of rows) t.equal(readAssetName(pathname)?.stem, stem, `${pathname}: ${why}`)
  t.equal(readAssetName('/3f9a1c2b/app.3f9a1c2b.js')?.hash, '3f9a1c2b')
})
