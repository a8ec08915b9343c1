import { start } from './start.js'
import { swallowErrors } from './swallow-errors.js'

/** Runs for `<script src=".../script.js?site=1">`. `data-site` names the site too; some tools drop attributes. */
swallowErrors(() => {
  // Without a current script, or inside an SVG, there is no URL: `new URL` throws and nothing starts.
  const { src, dataset } = Object(document.currentScript)
  const { site = new URL(src).searchParams.get('site'), endpoint = new URL('api/track', src) } = dataset
  start(+site, endpoint, 'hash' in dataset)
})()
