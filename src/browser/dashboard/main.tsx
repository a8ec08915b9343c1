import { render } from 'preact'
import { App } from './shell/app.js'
import { listenForKeys } from './shell/keys.js'
import { preloadView } from './shell/views.js'
import { followLinks, place } from './state/address.js'
import type { Problem } from './state/client.js'
import { loadSession } from './state/session.js'
import { loadShare } from './state/share.js'
import { loadTexts } from './texts/index.js'
import './styles/tokens.css'
import './styles/shell.css'
import './styles/sheet.css'
import './styles/charts.css'

followLinks()
listenForKeys()
preloadView(place.value.path)

async function start(): Promise<void> {
  const [first, slug] = place.value.path
  const [problem] = await Promise.all([first === 'share' && slug ? loadShare(slug) : loadSession(), loadTexts()])
  draw(problem)
}

function draw(problem: Problem | undefined): void {
  render(<App retry={() => void start()} {...(problem ? { problem } : {})} />, document.body)
}

void start()
