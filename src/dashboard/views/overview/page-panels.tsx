import { Butterfly } from '../../parts/lists.js'
import { Cut } from '../../parts/names.js'
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
        right={
          <a class="more" href={hrefTo({ path: viewPath('pages') })}>
            {texts.allPages}
          </a>
        }
        answers={audiences.value.map((of) => pages[of])}
        empty={rows.length === 0}
      >
        {() => <Butterfly head={texts.page} metrics={{ human: 'pageviews', agent: 'fetches' }} rows={rows} />}
      </Panel>
      {isAgents && <Disobeyed />}
    </>
  )
}

function Disobeyed() {
  const texts = t().overview
  const found = useOne('/api/policy/violations', 'agent', { compare: undefined, limit: 6 })
  const rows = found.data ?? []
  return (
    <Panel
      span={4}
      title={texts.disobeyed}
      right={
        <a class="more" href={hrefTo({ path: viewPath('violations') })}>
          {texts.all}
        </a>
      }
      answers={[found]}
      empty={rows.length === 0}
      emptyText={texts.disobeyedNone}
      foot={rows.length > 0 && texts.disobeyedFoot(formatNumber(rows.reduce((sum, { fetches }) => sum + fetches, 0)))}
    >
      {() => (
        <ul class="violations">
          {rows.map(({ agent_id, operator, severity, hostname, pathname, rule, line, fetches }) => (
            <li key={`${agent_id} ${severity} ${hostname}${pathname}`}>
              <a class="cut" href={hrefTo({ path: viewPath('agents', agent_id) })}>
                <b>{agent_id}</b> <span class="muted small">{operator}</span>
              </a>
              <span>{formatNumber(fetches)}</span>
              <span class="mono muted">
                <Cut text={`${rule ?? pathname}${line === undefined ? '' : `  ${texts.line(line)}`}`} />
              </span>
              <SeverityTag of={severity} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
