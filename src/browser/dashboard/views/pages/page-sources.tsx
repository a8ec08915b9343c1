import { RankedPanel } from '../../parts/list-panel.js'
import { More } from '../../parts/names.js'
import { place } from '../../state/address.js'
import { useOne } from '../../state/question.js'
import { t } from '../../texts/index.js'

/** Sources of the people who read the page. */
export function PageSources({ filters }: { filters: string }) {
  const texts = t().pages
  const answer = useOne('/api/stats/sources', 'human', { filters, compare: undefined, limit: 8 })
  const rows = answer.data?.sources ?? []
  return (
    <RankedPanel
      span={place.value.show === 'human' ? 12 : 5}
      title={texts.cameFrom}
      right={<More to="sources">{t().shell.view.sources}</More>}
      answer={answer}
      emptyText={texts.noSources}
      of="human"
      metric="visitors"
      rows={rows.map(({ source, channel, visitors }) => ({
        key: `${source ?? ''} ${channel}`,
        label: source ?? t().parts.channel[channel] ?? channel,
        ...(source === undefined ? {} : { aside: t().parts.channel[channel] ?? channel }),
        value: visitors,
        filter: source === undefined ? ['channel', channel] : ['source', source],
      }))}
    />
  )
}
