import { useState } from 'preact/hooks'
import { ExportMenu } from '../../charts/export-menu.js'
import { pointsText } from '../../parts/change-text.js'
import { Choose } from '../../parts/fields.js'
import { MeasuresPanel } from '../../parts/list-panel.js'
import { type MeasuredRow, Measures } from '../../parts/measures.js'
import { Panel, Sentence } from '../../parts/panel.js'
import { PeopleOnly } from '../../parts/people-only.js'
import { place } from '../../state/address.js'
import type { Result } from '../../state/data.js'
import { filtersWith } from '../../state/filters.js'
import { formatLanguage, formatShare } from '../../state/format.js'
import { useOne } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'

type Devised = Result<'/api/stats/devices'>
const METRICS = ['visitors', 'bounce', 'duration']

/** Browsers, systems and screens of people. Agents have no device. */
export default function Devices() {
  const texts = t().devices
  const isPeople = place.value.show !== 'agent'
  const answer = useOne('/api/stats/devices', 'human', { limit: 100 }, isPeople)
  return (
    <PeopleOnly title={t().shell.view.devices} why={texts.agents} instead={['agents']} agentsBy="user_agent">
      {() => (
        <>
          <DevicesSentence answer={answer} />
          <Types answer={answer} />
          <Screens answer={answer} />
          <List of="browser" answer={answer} />
          <Versions of="browser" answer={answer} />
          <List of="os" answer={answer} />
          <Versions of="os" answer={answer} />
          <Languages />
        </>
      )}
    </PeopleOnly>
  )
}

/** The kind of device that most people used, how its share changed, and the browser used most. */
function DevicesSentence({ answer }: { answer: Devised }) {
  const texts = t().devices
  const totals = useOne('/api/stats/overview', 'human')
  return (
    <Sentence answers={[answer]} also={[totals]}>
      {() => {
        const types = answer.data?.device_types ?? []
        const listed = types.reduce((sum, { visitors = 0 }) => sum + visitors, 0)
        // Days of another tool are in the totals alone.
        const all = totals.meta?.warnings?.some(({ code }) => code === 'imported_history') ? undefined : totals.data
        const of = all?.visitors || listed
        const first = types.find(({ device_type }) => device_type !== undefined)
        const browser = answer.data?.browsers?.find((row) => row.browser !== undefined)
        if (!first?.device_type || !browser?.browser || of === 0) return texts.none(whenText())
        const share = (n = 0) => formatShare(Math.min(1, n / of))
        // The list has no type that is in the time before alone, so the total of that time is asked.
        const [was, wereAll] = [first.comparison?.visitors, all?.comparison?.visitors]
        const before = was === undefined || wereAll === undefined ? undefined : { n: was, of: wereAll }
        return texts.sentence(
          whenText(),
          share(first.visitors),
          texts.typeInSentence[first.device_type] ?? first.device_type,
          pointsText({ n: first.visitors ?? 0, of }, before),
          <b>{browser.browser.slice(0, 80)}</b>,
          share(browser.visitors),
        )
      }}
    </Sentence>
  )
}

/** A row of a dimension; a value that is not known stays, so that the rows add up. */
const rowOf = (dimension: string, value: string | undefined, values: MeasuredRow['values'], label?: string) => ({
  key: value ?? '',
  label: label ?? value ?? t().parts.unknown,
  ...(value === undefined ? {} : { filter: [dimension, value] as const }),
  values,
})

function Types({ answer }: { answer: Devised }) {
  const texts = t().devices
  const rows = (answer.data?.device_types ?? []).map((row) =>
    rowOf('device_type', row.device_type, row, row.device_type && texts.type[row.device_type]),
  )
  return (
    <MeasuresPanel
      span={7}
      title={texts.types}
      right={<ExportMenu report="devices" picture={false} />}
      answer={answer}
      lacking="human"
      head={texts.typeHead}
      rows={rows}
      metrics={METRICS}
    />
  )
}

function Screens({ answer }: { answer: Devised }) {
  const texts = t().devices
  const found = answer.data?.screen_classes ?? []
  const isKnown = found.some(({ screen_class }) => screen_class !== undefined)
  const rows = found.map((row) =>
    rowOf('screen_class', row.screen_class, row, row.screen_class && texts.screenClass[row.screen_class]),
  )
  return (
    <MeasuresPanel
      span={5}
      title={texts.screens}
      answer={answer}
      empty={!isKnown}
      emptyText={texts.noScreens}
      head={texts.screen}
      rows={rows}
      metrics={['visitors']}
    />
  )
}

function List({ of, answer }: { of: 'browser' | 'os'; answer: Devised }) {
  const texts = t().devices
  const title = of === 'browser' ? texts.browsers : texts.os
  const rows =
    of === 'browser'
      ? (answer.data?.browsers ?? []).map((row) => rowOf(of, row.browser, row))
      : (answer.data?.os ?? []).map((row) => rowOf(of, row.os, row))
  return (
    <MeasuresPanel
      span={7}
      title={title}
      answer={answer}
      head={of === 'browser' ? texts.browser : texts.osHead}
      rows={rows}
      metrics={METRICS}
    />
  )
}

/** The versions of one browser or system, at first of the one used most. */
function Versions({ of, answer }: { of: 'browser' | 'os'; answer: Devised }) {
  const texts = t().devices
  const [chosen, setChosen] = useState<string>()
  const known =
    (of === 'browser' ? answer.data?.browsers?.map((row) => row.browser) : answer.data?.os?.map((row) => row.os)) ?? []
  const names = known.flatMap((name) => name ?? [])
  const name = chosen !== undefined && names.includes(chosen) ? chosen : names[0]
  const versions = useOne(
    '/api/stats/breakdown',
    'human',
    {
      dimension: `${of}_version`,
      filters: filtersWith({ dimension: of, op: 'is', value: name ?? '' }),
      limit: 12,
    },
    name !== undefined,
  )
  const rows = (versions.data ?? []).map((row) =>
    rowOf(`${of}_version`, row.value === undefined ? undefined : `${row.value}`, row),
  )
  return (
    <Panel
      span={5}
      title={texts.versions}
      right={
        <label class="picker">
          <span class="visually-hidden">{texts.versionsOf}</span>
          <Choose
            value={name}
            choices={names.slice(0, 30).map((each) => [each, each.slice(0, 60)])}
            onChoose={setChosen}
          />
        </label>
      }
      answers={[answer, versions]}
      also={[versions]}
      empty={rows.length === 0}
      foot={of === 'os' && texts.frozen}
    >
      {() => <Measures of="human" label={texts.versions} head={texts.version} rows={rows} metrics={['visitors']} />}
    </Panel>
  )
}

function Languages() {
  const texts = t().devices
  const answer = useOne('/api/stats/breakdown', 'human', { dimension: 'language', limit: 20 })
  const rows = (answer.data ?? []).map((row) =>
    rowOf(
      'language',
      row.value === undefined ? undefined : `${row.value}`,
      row,
      row.value === undefined ? undefined : formatLanguage(`${row.value}`),
    ),
  )
  return <MeasuresPanel title={texts.languages} answer={answer} head={texts.language} rows={rows} metrics={METRICS} />
}
