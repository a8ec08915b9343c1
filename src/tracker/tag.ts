import { quietly } from './quietly.js'
import { start } from './start.js'

/** What `<script src=".../script.js?site=1">` does. The site may stand in an attribute too, which some tools drop. */
quietly(() => {
  // Of no script or one of a drawing there is no URL, which ends it.
  const { src, dataset } = Object(document.currentScript)
  const { site = new URL(src).searchParams.get('site'), endpoint = new URL('api/track', src).href, hash } = dataset
  start({ site: Number(site), endpoint, hash: hash !== undefined })
})()
