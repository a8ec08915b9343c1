import { useEffect } from 'preact/hooks'
import { Code } from '../../parts/dialogs.js'
import { OutLink } from '../../parts/names.js'
import { forget } from '../../state/data.js'
import { scriptTag, site } from '../../state/session.js'
import { whileVisible } from '../../state/visible.js'
import { t } from '../../texts/index.js'

/** The first minutes: how to make the first visit and the first fetch. Fills by itself. */
export function FirstRun() {
  const { empty } = t().overview
  const host = site.value?.domains?.[0] ?? location.hostname
  const address = `${host.startsWith('localhost') || /^[\d.]+/.test(host) ? 'http' : 'https'}://${host}/`
  useEffect(() => whileVisible(3_000, () => forget('/api/stats/overview')), [])
  return (
    <>
      <h1 class="title">{empty.title}</h1>
      <p class="muted first-run">{empty.text}</p>
      <div class="sheet">
        <section class="cell">
          <h2>{empty.asPerson}</h2>
          <p class="muted">{empty.asPersonText}</p>
          <p class="title-line">
            <OutLink href={address}>{address}</OutLink>
            <span class="pulse" />
            <span class="muted">{empty.waiting}</span>
          </p>
        </section>
        <section class="cell">
          <h2>{empty.asAgent}</h2>
          <p class="muted">{empty.asAgentText}</p>
          <Code text={`curl -A "GPTBot/1.3" ${address}`} />
        </section>
        <section class="cell">
          <h2>{empty.script}</h2>
          <p class="muted">{empty.scriptText}</p>
          <Code text={scriptTag()} />
        </section>
      </div>
    </>
  )
}
