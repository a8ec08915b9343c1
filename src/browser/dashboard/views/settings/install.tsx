import { useState } from 'preact/hooks'
import { Code } from '../../parts/dialogs.js'
import { Icon } from '../../parts/marks.js'
import { Panel } from '../../parts/panel.js'
import { hrefTo, root, viewPath } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { formatInstant } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { siteQuery } from '../../state/question.js'
import { hasRole, scriptTag, site, siteAddress } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { Arrivals } from './arrivals.js'
import { RefusedHostnames } from './refused-hostnames.js'
import { PROGRAMS, proxyCommand } from './snippets.js'

/** Snippets with the site's own values, and a check that tells whether data arrives. */
export function Install() {
  const { settings } = t()
  const texts = settings.install
  const id = site.value?.id ?? 0
  const address = new URL(siteAddress() ?? 'https://www.example.com/')
  // Each look at the key is a line of the audit log, so it is asked for when the reader wants to see it.
  const [isKeyShown, setKeyShown] = useState(false)
  const key = useRead('/api/sites/{id}/ingest-key', isKeyShown && id > 0 ? {} : undefined, { params: { id } })
  return (
    <>
      <Arrived />
      <Panel title={texts.proxy} aside={texts.proxyAside}>
        {() => (
          <>
            <p class="muted">{texts.proxyText}</p>
            <Code text={proxyCommand(address.hostname)} />
          </>
        )}
      </Panel>
      {PROGRAMS.map(({ name, packages, program }) => (
        <Panel key={name} title={name} aside={texts.middleware}>
          {() => (
            <>
              <Code text={`npm install readership ${packages}`.trim()} />
              <Code text={program(address.origin)} />
            </>
          )}
        </Panel>
      ))}
      <Panel title={texts.script}>
        {() => (
          <>
            <p class="muted">{texts.scriptText}</p>
            <Code text={scriptTag()} />
          </>
        )}
      </Panel>
      <Panel title={texts.signed} aside={texts.signedAside}>
        {() => (
          <>
            <p class="muted">{texts.signedText}</p>
            <Code text={`POST ${root.href}api/log/edge\nsite_id: ${id}`} />
            {hasRole('admin') ? (
              <details onToggle={(event) => setKeyShown(event.currentTarget.open)}>
                <summary>{texts.showKey}</summary>
                {key.data ? <Code text={key.data.ingest_key} /> : <p class="muted">{key.problem?.message}</p>}
              </details>
            ) : (
              <p class="muted small">{t().parts.needsRole('admin')}</p>
            )}
          </>
        )}
      </Panel>
    </>
  )
}

/** Whether rows arrive, asked every five seconds while the page is visible. */
function Arrived() {
  const texts = t().settings.install
  const day = { ...siteQuery.value, range: '24h' }
  const people = useRead('/api/stats/overview', { ...day, audience: 'human' }, { every: 5_000 })
  const agents = useRead('/api/agents/overview', day, { every: 5_000 })
  const live = useRead('/api/stats/realtime', { ...siteQuery.value, audience: 'all' }, { every: 5_000 })
  const since = people.meta?.recorded?.since
  const { pageviews = 0 } = people.data ?? {}
  const { fetches = 0 } = agents.data ?? {}
  return (
    <Panel title={texts.check} answers={[people, agents]} also={[people, agents, live]} skeleton={8}>
      {() => (
        <>
          <div role="status">
            {since === undefined && pageviews + fetches === 0 ? (
              <p>
                <span class="pulse" /> {texts.waiting}
              </p>
            ) : (
              <p>
                <Icon name="check" />{' '}
                {texts.arrived(
                  quantity('/api/stats/overview pageviews', pageviews),
                  quantity('/api/stats/overview fetches', fetches),
                )}{' '}
                {since && <span class="muted">{t().shell.recordedSince(formatInstant(since))}. </span>}
                <a href={hrefTo({ path: viewPath() })}>{texts.numbers}</a>
              </p>
            )}
            {live.data && (
              <p class="muted small">
                {texts.now(
                  quantity('/api/stats/realtime people', live.data.people ?? 0),
                  quantity('/api/stats/realtime agents', live.data.agents ?? 0),
                )}
              </p>
            )}
          </div>
          <Arrivals hasPeople={pageviews > 0} hasAgents={fetches > 0} />
          <RefusedHostnames />
        </>
      )}
    </Panel>
  )
}
