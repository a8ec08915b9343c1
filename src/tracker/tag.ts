import { quietly } from './quietly.js'
import { start } from './start.js'

/** What `<script src=".../script.js?site=1">` does. The site may stand in an attribute too, which some tools drop. */
quietly(() => {
  const script = document.currentScript
  if (!script || !('src' in script)) return
  const { searchParams } = new URL(script.src)
  const { site = searchParams.get('site'), endpoint = new URL('api/track', script.src).href, hash } = script.dataset
  start({ site: Number(site), endpoint, hash: hash !== undefined })
})()
