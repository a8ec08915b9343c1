import { ExportMenu } from '../../charts/export-menu.js'
import { ReadershipChart } from '../../charts/readership-chart.js'
import type { DataOf } from '../../client/index.js'
import { changingColumns } from '../../parts/columns.js'
import { ListPanel, RankedPanel } from '../../parts/list-panel.js'
import { More, RowName } from '../../parts/names.js'
import { pageNumber } from '../../parts/paging.js'
import { Sentence } from '../../parts/panel.js'
import { PeopleOnly } from '../../parts/people-only.js'
import { hrefTo, place, view, viewPath } from '../../state/address.js'
import type { Result } from '../../state/data.js'
import { formatNumber } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { useOne } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { OneEvent } from './one-event.js'

const LIMIT = 50
type Row = DataOf<'/api/stats/events'>[number]
type Answer = Result<'/api/stats/events'>

/** The actions of people besides reading: by name, or one of them. */
export default function Events() {
  const { shell, behaviour } = t()
  const [, name] = view.value
  return (
    <PeopleOnly
      title={name === undefined ? shell.view.events : undefined}
      why={behaviour.events.agents}
      instead={['pages', 'agents']}
      agentsBy="method"
    >
      {() => (name === undefined ? <AllEvents /> : <OneEvent name={name} />)}
    </PeopleOnly>
  )
}

/** The filter of an event: only custom events have names of their own. */
const filterOf = ({ name, kind }: Row) =>
  kind === 'custom' ? (['event_name', name] as const) : (['kind', kind] as const)

/** The list of events, with the links, files and forms in it. Long because each column has its cell. */
function AllEvents() {
  const texts = t().behaviour.events
  const events = useOne('/api/stats/events', 'human', { limit: LIMIT, page: pageNumber() })
  const totals = useOne('/api/stats/overview', 'human')
  const rows = events.data ?? []
  const label = (row: Row) => (row.kind === 'custom' ? row.name : (texts.kinds[row.kind] ?? row.kind))
  return (
    <>
      <Sentence answers={[totals]}>
        {() => {
          const first = rows[0]
          const link = first && (
            <a href={hrefTo({ path: viewPath('events', first.name) })}>{label(first).slice(0, 80)}</a>
          )
          return texts.sentence(
            whenText(),
            quantity('/api/stats/overview events', totals.data?.events ?? 0),
            link,
            first?.events ?? 0,
          )
        }}
      </Sentence>
      <ReadershipChart only="human" metrics={{ human: 'events', agent: 'events' }} label={texts.chart} />
      <ListPanel
        title={texts.all}
        answer={events}
        emptyText={place.value.filters.length > 0 ? undefined : texts.empty}
        right={<ExportMenu report="events" only="human" picture={false} />}
        rows={rows}
        rowKey={({ kind, name }) => `${kind} ${name}`}
        columns={[
          {
            key: 'name',
            head: texts.name,
            cell: (row) => <RowName label={label(row)} filter={filterOf(row)} to={viewPath('events', row.name)} />,
          },
          {
            key: 'kind',
            head: texts.kindHead,
            width: '18%',
            wide: true,
            cell: ({ kind }) => <span class="muted">{texts.kind[kind] ?? kind}</span>,
          },
          ...changingColumns('events', { width: '12%', changeWidth: '12%' }),
          {
            key: 'people',
            head: t().shell.show.human,
            right: true,
            width: '16%',
            cell: ({ visitors }) => show(visitors),
          },
        ]}
        limit={LIMIT}
      />
      <Targets answer={events} kind="outbound" property="url" />
      <Targets answer={events} kind="file_download" property="url" />
      <Targets answer={events} kind="form" property="form" />
    </>
  )
}

const show = (n: number | undefined): string => (n === undefined ? '–' : formatNumber(n))

/** The links, files or forms that people used most. */
function Targets({ answer, kind, property }: { answer: Answer; kind: string; property: string }) {
  const texts = t().behaviour.events
  const values = answer.data?.find((row) => row.kind === kind)?.properties?.find(({ key }) => key === property)?.values
  return (
    <RankedPanel
      span={4}
      title={texts.kinds[kind] ?? kind}
      answer={answer}
      empty={!values || values.length === 0}
      emptyText={texts.none[kind]}
      right={<More to={['events', kind]}>{t().shell.more}</More>}
      of="human"
      metric="events"
      rows={(values ?? []).map(({ value, events }) => ({
        label: value,
        value: events,
        filter: [`prop:${property}`, value],
      }))}
    />
  )
}
