import { ReadershipChart } from '../../charts/readership-chart.js'
import { LinkButton } from '../../parts/buttons.js'
import { Ranked } from '../../parts/lists.js'
import { Panel, Sentence } from '../../parts/panel.js'
import { Warnings } from '../../parts/states.js'
import { go, hrefTo, place, viewPath } from '../../state/address.js'
import { quantity } from '../../state/quantity.js'
import { useOne } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'

const KINDS = ['outbound', 'file_download', 'form']

/** One event: how often it happened, and the values of its properties. */
export function OneEvent({ name }: { name: string }) {
  const { shell, behaviour } = t()
  const texts = behaviour.events
  const { property } = place.value.own
  const answer = useOne('/api/stats/events', 'human', { name, property: property || undefined, limit: 1 })
  const row = answer.data?.[0]
  const filter = KINDS.includes(name)
    ? { dimension: 'kind', op: 'is', value: name }
    : { dimension: 'event_name', op: 'is', value: name }
  return (
    <>
      <div class="cell">
        <p class="crumb">
          <a href={hrefTo({ path: viewPath('events') })}>{shell.view.events}</a>
        </p>
        <h1 class="title" dir="auto">
          {(texts.kinds[name] ?? name).slice(0, 300)}
        </h1>
      </div>
      <Sentence answers={[answer]}>
        {() => texts.one(whenText(), quantity('/api/stats/events visitors', row?.visitors ?? 0), row?.events ?? 0)}
      </Sentence>
      <ReadershipChart
        only="human"
        metrics={{ human: 'events', agent: 'events' }}
        label={texts.chart}
        more={{ filters: JSON.stringify([...place.value.filters, filter]) }}
      />
      {row?.properties?.length === 0 && (
        <Panel title={texts.properties}>{() => <div class="state">{texts.noProperties}</div>}</Panel>
      )}
      {(row?.properties ?? []).map(({ key, values }) => (
        <Panel
          key={key}
          span={property ? 12 : 4}
          title={<span dir="auto">{key.slice(0, 200)}</span>}
          answers={[answer]}
          right={
            <LinkButton
              aria-pressed={property === key}
              onClick={() => go({ own: { ...place.value.own, property: property ? '' : key } })}
            >
              {property ? texts.allProperties : texts.allValues}
            </LinkButton>
          }
        >
          {() => (
            <Ranked
              of="human"
              metric="events"
              rows={values.map(({ value, events }) => ({
                label: value,
                value: events,
                filter: [`prop:${key}`, value],
              }))}
            />
          )}
        </Panel>
      ))}
      {answer.meta?.warnings && (
        <div class="cell">
          <Warnings of={[answer.meta]} />
        </div>
      )}
    </>
  )
}
