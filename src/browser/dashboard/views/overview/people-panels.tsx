import { CountryTable, countryRows } from '../../parts/country-table.js'
import { RankedPanel } from '../../parts/list-panel.js'
import { Ranked } from '../../parts/lists.js'
import { More } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { Absent } from '../../parts/states.js'
import { place } from '../../state/address.js'
import { audiences, useOne, usePair, useTogether } from '../../state/question.js'
import { t } from '../../texts/index.js'

/** Sources, devices and places. */
export function PeoplePanels() {
  return (
    <>
      {place.value.show !== 'agent' && <Sources />}
      {place.value.show !== 'agent' && <Devices />}
      <Places />
    </>
  )
}

const more = (name: string, text: string) => <More to={[name]}>{text}</More>

function Sources() {
  const texts = t().overview
  const { channel } = t().parts
  const answer = useOne('/api/stats/sources', 'human', { compare: undefined })
  const assistants = (answer.data?.sources ?? []).filter((row) => row.channel === 'AI Assistants').slice(0, 6)
  const channels = (answer.data?.channels ?? []).slice(0, 6)
  return (
    <>
      <RankedPanel
        span={4}
        title={texts.aiSources}
        answer={answer}
        empty={assistants.length === 0}
        emptyText={texts.aiNone}
        foot={texts.aiFoot}
        of="human"
        metric="sessions"
        rows={assistants.map(({ source = t().parts.unknown, sessions }) => ({
          label: source,
          value: sessions,
          filter: ['source', source],
        }))}
      />
      <RankedPanel
        span={4}
        title={t().shell.view.sources}
        aside={texts.sessions}
        right={more('sources', t().agents.all)}
        answer={answer}
        empty={channels.length === 0}
        of="human"
        metric="sessions"
        rows={channels.map((row) => ({
          key: row.channel,
          label: channel[row.channel] ?? row.channel,
          value: row.sessions,
          filter: ['channel', row.channel],
        }))}
      />
    </>
  )
}

function Devices() {
  const texts = t().overview
  const answer = useOne('/api/stats/devices', 'human', { compare: undefined })
  const rows = answer.data?.device_types ?? []
  return (
    <Panel
      span={4}
      title={t().shell.view.devices}
      right={more('devices', t().agents.all)}
      answers={[answer]}
      empty={rows.length === 0}
    >
      {() => (
        <>
          <Ranked
            of="human"
            metric="visitors"
            rows={rows.map(({ device_type, visitors }) => ({
              key: device_type ?? '',
              label: device_type === undefined ? t().parts.unknown : (t().devices.type[device_type] ?? device_type),
              value: visitors,
              ...(device_type === undefined ? {} : { filter: ['device_type', device_type] as const }),
            }))}
          />
          {place.value.show === 'both' && <Absent of="agent">{texts.noDevices}</Absent>}
        </>
      )}
    </Panel>
  )
}

function Places() {
  const texts = t().overview
  const places = useTogether(usePair('/api/stats/locations', { compare: undefined, limit: 300 }))
  const rows = countryRows(places).slice(0, 10)
  return (
    <Panel
      title={t().shell.view.places}
      right={more('places', texts.mapAndList)}
      answers={audiences.value.map((of) => places[of])}
      empty={rows.length === 0}
    >
      {() => <CountryTable rows={rows} />}
    </Panel>
  )
}
