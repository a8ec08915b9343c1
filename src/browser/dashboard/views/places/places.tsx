import { useFew } from '../../parts/buttons.js'
import { MeasuresPanel } from '../../parts/list-panel.js'
import '../../styles/places.css'
import { ExportMenu } from '../../charts/export-menu.js'
import { CountryTable, countryRows } from '../../parts/country-table.js'
import { Mark } from '../../parts/marks.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { Absent, Lacking } from '../../parts/states.js'
import { lazy } from '../../shell/lazy.js'
import { type Audience, place } from '../../state/address.js'
import { isFiltered } from '../../state/filters.js'
import { formatCountry, formatShare } from '../../state/format.js'
import { audiences, type Pair, usePair, useTogether } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'

type Located = Pair<'/api/stats/locations'>
const METRICS = { human: 'visitors', agent: 'fetches' } as const
const FEW = 24

/** Places of readers: a map of each readership, and tables of countries, regions and cities. */
export default function Places() {
  const texts = t().places
  const located = usePair('/api/stats/locations', { limit: 300 })
  return (
    <Sheet title={t().shell.view.places}>
      <PlacesSentence located={located} />
      {audiences.value.map((of) => (
        <MapPanel key={of} of={of} located={located} />
      ))}
      <Countries located={located} />
      {place.value.show !== 'agent' && <Regions located={located} />}
      {place.value.show !== 'agent' && <Cities located={located} />}
      {place.value.show !== 'human' && (
        <div class="cell">
          <Absent of="agent">{texts.agentsByCountry}</Absent>
        </div>
      )}
    </Sheet>
  )
}

/** Readers by country; those of unknown countries are left out. */
function byCountry(located: Located, of: Audience): Map<string, number> {
  const rows = located[of].data?.countries ?? []
  return new Map(rows.flatMap((row) => (row.country === undefined ? [] : [[row.country, row[METRICS[of]] ?? 0]])))
}

function PlacesSentence({ located }: { located: Located }) {
  const texts = t().places
  return (
    <Sentence answers={audiences.value.map((of) => located[of])}>
      {() => {
        const parts = audiences.value.flatMap((of) => {
          const values = byCountry(located, of)
          const [first] = values
          const total = [...values.values()].reduce((sum, value) => sum + value, 0)
          if (!first || total === 0) return []
          const count = <span class={of === 'human' ? 'people' : 'agents'}>{texts.countries(values.size)}</span>
          const write = of === 'human' ? texts.people : texts.agents
          return [write(count, <b>{formatCountry(first[0])}</b>, formatShare(first[1] / total))]
        })
        if (parts.length === 0) return texts.none(whenText())
        return [
          whenText(),
          ' ',
          ...parts.flatMap((part, i) => (i === 0 ? part : [texts.and, ...part])),
          t().pages.one.end,
        ]
      }}
    </Sentence>
  )
}

/** The map is a chunk of its own: the shapes of the world are larger than the rest of the view. */
const { component: WorldMap } = lazy(() => import('./world-map.js'))

function MapPanel({ of, located }: { of: Audience; located: Located }) {
  const texts = t().places
  const isBoth = place.value.show === 'both'
  const isLast = audiences.value.at(-1) === of
  return (
    <Panel
      span={isBoth ? 6 : 12}
      class={isBoth ? 'half' : ''}
      title={
        <span class="marked">
          <Mark of={of} /> {texts.map[of]}
        </span>
      }
      right={isLast && <ExportMenu report="locations" />}
      answers={[located[of]]}
      empty={located[of].data?.countries.length === 0}
      emptyText={texts.empty}
      foot={isBoth ? texts.mapFoot : texts.mapFootOne}
      skeleton={9}
    >
      {() => (
        <>
          <Lacking of={of} />
          <WorldMap
            of={of}
            title={texts.map[of]}
            values={byCountry(located, of)}
            picked={(code) => isFiltered('country', code)}
          />
        </>
      )}
    </Panel>
  )
}

function Countries(props: { located: Located }) {
  const texts = t().places
  const located = useTogether(props.located)
  const all = countryRows(located)
  const [rows, button] = useFew(all, FEW)
  return (
    <Panel
      title={texts.countriesTitle}
      answers={audiences.value.map((of) => located[of])}
      empty={rows.length === 0}
      emptyText={texts.empty}
    >
      {() => (
        <>
          <CountryTable rows={rows} />
          {button}
        </>
      )}
    </Panel>
  )
}

function Regions({ located }: { located: Located }) {
  const texts = t().places
  const rows = (located.human.data?.regions ?? []).slice(0, 50)
  return (
    <MeasuresPanel
      span={6}
      title={texts.regions}
      answer={located.human}
      emptyText={texts.noRegions}
      head={texts.region}
      metrics={['visitors', 'pageviews']}
      rows={rows.map((row) => ({
        key: `${row.country ?? ''} ${row.region ?? ''}`,
        label: row.region ?? t().parts.unknown,
        aside: row.country === undefined ? undefined : formatCountry(row.country),
        ...(row.region === undefined ? {} : { filter: ['region', row.region] as const }),
        values: row,
      }))}
    />
  )
}

function Cities({ located }: { located: Located }) {
  const texts = t().places
  const rows = (located.human.data?.cities ?? []).slice(0, 50)
  return (
    <MeasuresPanel
      span={6}
      title={texts.cities}
      answer={located.human}
      emptyText={texts.noCities}
      head={texts.city}
      metrics={['visitors', 'pageviews']}
      rows={rows.map((row) => ({
        key: [row.country, row.region, row.city].join(' '),
        label: row.city ?? t().parts.unknown,
        aside: row.country === undefined ? undefined : formatCountry(row.country),
        ...(row.city === undefined ? {} : { filter: ['city', row.city] as const }),
        values: row,
      }))}
    />
  )
}
