import { render } from 'preact'
import { segmentsQuery } from './parts/filter-name.js'
import { App } from './shell/app.js'
import { listenForKeys } from './shell/keys.js'
import { realtimeQuery } from './shell/rail.js'
import { preloadView } from './shell/views.js'
import { followLinks, place } from './state/address.js'
import type { Problem } from './state/client.js'
import { prefetch } from './state/data.js'
import { siteQuery } from './state/question.js'
import { loadSession } from './state/session.js'
import { loadShare } from './state/share.js'
import { loadTexts } from './texts/index.js'
import './styles/tokens.css'
import './styles/shell.css'
import './styles/sheet.css'
import './styles/charts.css'

followLinks()
listenForKeys()

async function start(): Promise<void> {
  const [first, slug] = place.value.path
  const isShare = first === 'share' && slug !== undefined
  const [problem] = await Promise.all([
    isShare ? loadShare(slug) : loadSession(),
    loadTexts(),
    preloadView(place.value.path),
  ])
  draw(problem)
}

/** Asks what every view of a site asks, in one request with the session. */
function prefetchFrame(): void {
  const [realtime, segments] = [realtimeQuery(), segmentsQuery()]
  if (realtime) prefetch('/api/stats/realtime', realtime)
  if (segments) prefetch('/api/segments', segments)
  if (siteQuery.value.site !== undefined) prefetch('/api/stats/dimensions', siteQuery.value)
}

function draw(problem: Problem | undefined): void {
  render(<App retry={() => void start()} {...(problem ? { problem } : {})} />, document.body)
}

void start()
if (place.value.path[0] !== 'share') prefetchFrame()
