import { DecidingLine } from '../../parts/deciding-line.js'
import { Butterfly } from '../../parts/lists.js'
import { More } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { SeverityTag } from '../../parts/tags.js'
import { hrefTo, place, viewPath } from '../../state/address.js'
import { formatNumber } from '../../state/format.js'
import { audiences, useOne } from '../../state/question.js'
import { t } from '../../texts/index.js'
import { useTopPages } from './top-pages.js'

/** Top pages of both readerships, and what disobeyed robots.txt. */
export function PagePanels() {
  const texts = t().overview
  const { pages, rows } = useTopPages()
  const isAgents = place.value.show !== 'human'
  return (
    <>
      <Panel
        span={isAgents ? 8 : 12}
        title={texts.topPages}
        right={<More to="pages">{texts.allPages}</More>}
        answers={audiences.value.map((of) => pages[of])}
        empty={rows.length === 0}
      >
        {() => (
          <Butterfly
            head={texts.page}
            metrics={{ human: 'pageviews', agent: 'fetches' }}
            rows={rows}
            {...(isAgents ? { tagHead: 'robots.txt' } : {})}
          />
        )}
      </Panel>
      {isAgents && <Disobeyed />}
    </>
  )
}

function Disobeyed() {
  const texts = t().overview
  const found = useOne('/api/policy/violations/agents', 'agent', { compare: undefined, limit: 6 })
  const rows = found.data ?? []
  return (
    <Panel
      span={4}
      title={texts.disobeyed}
      right={<More to="violations">{t().agents.all}</More>}
      answers={[found]}
      empty={rows.length === 0}
      emptyText={texts.disobeyedNone}
      foot={rows.length > 0 && texts.disobeyedFoot(formatNumber(rows.reduce((sum, { fetches }) => sum + fetches, 0)))}
    >
      {() => (
        <ul class="violations">
          {rows.map(({ agent_id, name, operator, severity, rule, line, fetches }) => (
            <li key={`${agent_id} ${severity}`}>
              <a class="cut" href={hrefTo({ path: viewPath('agents', agent_id) })}>
                <b>{name}</b> <span class="muted small">{operator}</span>
              </a>
              <span class="right-align">{formatNumber(fetches)}</span>
              <DecidingLine of={{ ...(rule === undefined ? {} : { rule }), ...(line === undefined ? {} : { line }) }} />
              <SeverityTag of={severity} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
