import { ReadershipChart } from '../../charts/readership-chart.js'
import { Diff } from '../../parts/diff.js'
import { Later } from '../../parts/later.js'
import { RankedPanel } from '../../parts/list-panel.js'
import { Icon } from '../../parts/marks.js'
import { More, OutLink, ViewLink } from '../../parts/names.js'
import { Figures, Headline, metricOf } from '../../parts/numbers.js'
import { Panel, Sheet } from '../../parts/panel.js'
import { type Audience, hrefTo, place, viewPath } from '../../state/address.js'
import { filtersWith } from '../../state/filters.js'
import { formatAgo, formatFullInstant, formatInstant } from '../../state/format.js'
import { pickedMetrics, pickMetric } from '../../state/metrics.js'
import { pageAddress } from '../../state/page-address.js'
import { shownPath } from '../../state/path-name.js'
import { quantity } from '../../state/quantity.js'
import { audiences, envelope, useOne, usePair } from '../../state/question.js'
import { siteAddress } from '../../state/session.js'
import { useVersions } from '../../state/versions.js'
import { t } from '../../texts/index.js'
import { useAgentsOfPage } from './agents-of-page.js'
import { PageAgents } from './page-agents.js'
import { PageDecay } from './page-decay.js'
import { PageGap } from './page-gap.js'
import { PageSentence } from './page-sentence.js'

/** One page: who read it, whether they were allowed to, and who came back. */
export function OnePage({ pathname }: { pathname: string }) {
  const texts = t().pages
  const filters = filtersWith({ dimension: 'pathname', op: 'is', value: pathname })
  const pages = usePair('/api/stats/pages', { filters, limit: 1 })
  const gap = useOne('/api/citation-gap/summary', 'agent', { filters, compare: undefined })
  const agents = useAgentsOfPage(pathname, filters)
  const coverage = useOne('/api/agents/coverage', 'agent', { filters, compare: undefined, limit: 20 })
  const page = coverage.data?.[0]
  const hostname = page?.hostname ?? agents.hostname
  const picked = pickedMetrics({ human: 'visitors', agent: 'fetches' })
  return (
    <>
      <p class="crumb">
        <ViewLink to={['pages']}>{t().shell.view.pages}</ViewLink>
        {hostname && ` / ${hostname}`}
      </p>
      <div class="title-line" aria-busy={[coverage, ...agents.answers].some((one) => one.loading)}>
        <h1 class="title" dir="ltr" title={pathname.slice(0, 2_000)}>
          {shownPath(pathname.slice(0, 1_000))}
        </h1>
        {agents.disallowed > 0 && (
          <ViewLink class="tag" to={['violations']}>
            <Icon name="noEntry" />
            {texts.whileDisallowed(quantity('/api/policy/violations/agents fetches', agents.disallowed))}
          </ViewLink>
        )}
        {page?.llms_listed === 0 && <span class="tag">{texts.notInLlms}</span>}
        {hostname && (
          <span class="right muted small">
            <OutLink href={pageAddress(hostname, pathname, siteAddress())}>{texts.openPage}</OutLink>
          </span>
        )}
      </div>
      <Sheet>
        <PageSentence pages={pages} gap={gap} agents={agents} />
        {audiences.value.map((of) => (
          <Figures key={of} of={of} loading={pages[of].loading}>
            <Numbers of={of} page={pages[of].data?.[0]} loaded={pages[of].data !== undefined} agents={agents} />
          </Figures>
        ))}
        <ReadershipChart span={7} label={texts.chart} title={texts.chart} metrics={picked} more={{ filters }} />
        <PageGap gap={gap} />
        {place.value.show !== 'human' && <PageAgents agents={agents} />}
        <Later>
          {place.value.show !== 'human' && <PageVersions agents={agents} />}
          {place.value.show !== 'agent' && <PageSources filters={filters} />}
          <PageDecay filters={filters} />
        </Later>
      </Sheet>
    </>
  )
}

interface NumbersProps {
  of: Audience
  page: Readonly<Record<string, unknown>> | undefined
  loaded: boolean
  agents: ReturnType<typeof useAgentsOfPage>
}

function Numbers({ of, page, loaded, agents }: NumbersProps) {
  const texts = t().pages
  const picked = pickedMetrics({ human: 'visitors', agent: 'fetches' })
  const before = page?.comparison
  const install = <ViewLink to={['settings', 'install']}>{texts.needsScript}</ViewLink>
  return (
    <>
      {METRICS[of].map(({ metric, charted, measured }, i) => {
        // A page that is absent from the answer was read 0 times; a share of its reads does not exist.
        const isCount = !measured && metric !== 'verified'
        const value = metricOf(page, metric) ?? (loaded && isCount && !page ? 0 : undefined)
        return (
          <Headline
            key={metric}
            of={of}
            metric={metric}
            big={i === 0}
            value={value}
            before={metricOf(before, metric)}
            {...(charted ? { picked: picked[of] === metric, onPick: () => pickMetric(picked, of, metric) } : {})}
            {...(measured && page && value === undefined ? { under: install } : {})}
          />
        )
      })}
      {of === 'agent' && <LastRead agents={agents} />}
    </>
  )
}

const METRICS: Record<Audience, readonly { metric: string; charted?: boolean; measured?: boolean }[]> = {
  // Each readership's first number is large.
  human: [
    { metric: 'visitors', charted: true },
    { metric: 'entries' },
    { metric: 'time_on_page', measured: true },
    { metric: 'scroll_depth', measured: true },
  ],
  agent: [
    { metric: 'fetches', charted: true },
    { metric: 'agents', charted: true },
    { metric: 'verified', charted: true },
  ],
}

function LastRead({ agents }: { agents: ReturnType<typeof useAgentsOfPage> }) {
  const texts = t().pages
  const last = agents.rows.reduce<(typeof agents.rows)[number] | undefined>(
    (newest, row) => (newest === undefined || row.lastSeen > newest.lastSeen ? row : newest),
    undefined,
  )
  return (
    <div class="number agent">
      <span class="label">{texts.lastRead}</span>
      <span class={last ? 'value words' : 'value none'} title={last && formatFullInstant(last.lastSeen)}>
        {last ? formatAgo(last.lastSeen) : '–'}
      </span>
      <span class="change">{last ? last.name : texts.notYet}</span>
    </div>
  )
}

/** Sources of the people who read the page. */
function PageSources({ filters }: { filters: string }) {
  const texts = t().pages
  const answer = useOne('/api/stats/sources', 'human', { filters, limit: 8 })
  const rows = answer.data?.sources ?? []
  return (
    <RankedPanel
      span={place.value.show === 'human' ? 12 : 5}
      title={texts.cameFrom}
      aside={texts.cameFromAside}
      right={<More to="sources">{t().shell.view.sources}</More>}
      answer={answer}
      emptyText={texts.noSources}
      of="human"
      metric="visitors"
      rows={rows.map(({ source, channel, visitors, comparison }) => ({
        key: `${source ?? ''} ${channel}`,
        label: source ?? t().parts.channel[channel] ?? channel,
        ...(source === undefined ? {} : { aside: t().parts.channel[channel] ?? channel }),
        value: visitors,
        before: comparison?.visitors,
        filter: source === undefined ? ['channel', channel] : ['source', source],
      }))}
    />
  )
}

/** The newest change of robots.txt, and when the policy changed before. */
function PageVersions({ agents }: { agents: ReturnType<typeof useAgentsOfPage> }) {
  const texts = t().pages.versions
  const hostname = agents.policy?.hostname
  const answer = useVersions(
    hostname === undefined ? undefined : { ...envelope('agent'), compare: undefined, filters: undefined, hostname },
  )
  const versions = answer.data ?? []
  const [newest, before] = versions.filter(({ kind }) => kind === 'robots')
  return (
    <Panel
      span={place.value.show === 'both' ? 7 : 12}
      title={texts.title}
      right={<More to="policy">{t().shell.view.policy}</More>}
      answers={[...agents.answers, answer]}
      also={[answer]}
      empty={versions.length === 0}
      emptyText={texts.none}
    >
      {() => (
        <ol class="versions-line">
          {versions.slice(0, 6).map((version) => (
            <li
              key={`${version.kind} ${version.since}`}
              aria-current={version.until === undefined ? 'true' : undefined}
            >
              <div class="version-head">
                <a
                  href={hrefTo({
                    path: viewPath('policy'),
                    own: { hostname: hostname ?? '', version: `${version.kind}.txt ${version.since}` },
                  })}
                >
                  {formatInstant(version.since)}
                </a>
                <b>{version.kind}.txt</b>
                {version.until === undefined && <span class="muted small">{texts.inForce}</span>}
              </div>
              {version === newest && version.text !== undefined && before?.text !== undefined && (
                <Diff before={before.text} after={version.text} label={texts.changes(formatInstant(version.since))} />
              )}
            </li>
          ))}
        </ol>
      )}
    </Panel>
  )
}
