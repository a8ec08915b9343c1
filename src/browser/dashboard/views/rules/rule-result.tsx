import type { ComponentProps } from 'preact'
import { useState } from 'preact/hooks'
import { NoteStrip } from '../../charts/note-strip.js'
import { useNotes } from '../../charts/notes.js'
import { TimeChart } from '../../charts/time-chart.js'
import { LinkButton, useFew } from '../../parts/buttons.js'
import { claimedName, operatorName } from '../../parts/claimed-name.js'
import { column, countColumn, pageColumn } from '../../parts/columns.js'
import { Mark } from '../../parts/marks.js'
import { RowName } from '../../parts/names.js'
import { formatMetric, Headline } from '../../parts/numbers.js'
import { Panel, Sentence } from '../../parts/panel.js'
import { type Column, Table } from '../../parts/table.js'
import { viewPath } from '../../state/address.js'
import { formatDay, formatInstant, formatNumber, formatShare } from '../../state/format.js'
import type { Rehearsed, RulesRehearsal } from '../../state/rehearsal.js'
import type { RehearsedRule } from '../../state/rules.js'
import { timeZone } from '../../state/session.js'
import { whenText, windowName } from '../../state/window.js'
import { instantOf } from '../../state/zone.js'
import { t } from '../../texts/index.js'

interface ResultProps {
  of: Rehearsed
  /** The rule on screen in the result. */
  rule: RehearsedRule | undefined
}

/** The search engines whose fetches a rule touches. */
export const enginesTouched = ({ search_engines }: RehearsedRule) => search_engines.filter(({ would }) => would > 0)

type Also = ComponentProps<typeof Sentence>['answers'][number]

/** Says what the rule would have done, or that it cannot be stored. People are never touched, and it is always said. */
export function ResultSentence({ of, rule, also }: ResultProps & { also: Also }) {
  const { rules: texts, units } = t()
  const engines = rule ? enginesTouched(rule).length : 0
  return (
    <Sentence answers={[of]} also={[also]}>
      {() =>
        rule?.problems.length
          ? texts.hasProblem
          : rule && [
              ...texts.result(
                whenText(),
                <span class="agents">{units.fetches(rule.would.fetches)}</span>,
                units.agents(rule.agents.length),
                rule.action === 'allow',
              ),
              engines > 0 && <b> {texts.enginesAmong(texts.engines(engines))}</b>,
              ...texts.readersCame(<span class="people">{units.people(rule.readers)}</span>),
              ...texts.peopleTouched(<span class="people">{texts.nobody}</span>),
            ]
      }
    </Sentence>
  )
}

/** The numbers of the result, its days, agents and pages, and what the record cannot tell. */
export function Result({ of, rule }: ResultProps) {
  const { rules: texts, units, parts } = t()
  const { data: all, cancel, share } = of
  const [agents, moreAgents] = useFew(rule?.agents ?? [], MAX_ROWS)
  const [pages, morePages] = useFew(rule?.pages ?? [], MAX_ROWS)
  const panel = { answers: [of], empty: !rule }
  return (
    <div class="span-7 results" aria-live="polite">
      <Panel
        {...panel}
        title={texts.states.rehearse}
        aside={
          cancel
            ? texts.deciding(share === undefined ? '' : formatShare(share, 0))
            : all && texts.decidedAgain(units.fetches(all.fetches))
        }
        right={cancel && <LinkButton onClick={cancel}>{parts.cancel}</LinkButton>}
        skeleton={3}
      >
        {() => all && rule && <Numbers all={all} rule={rule} />}
      </Panel>
      <Panel {...panel} title={parts.granularity.day} right={<DashKey />} skeleton={10}>
        {() => all && rule && <RuleDays of={all} days={daysOf(all, rule)} hasReaders />}
      </Panel>
      <Panel {...panel} title={texts.byAgent} right={moreAgents} empty={agents.length === 0} emptyText={texts.noAgent}>
        {() => <Table label={texts.byAgent} rows={agents} rowKey={JSON.stringify} columns={agentColumns()} />}
      </Panel>
      <Panel
        {...panel}
        title={texts.byPage}
        aside={rule && units.pages(rule.total_pages)}
        right={morePages}
        empty={pages.length === 0}
        emptyText={texts.noAgent}
        foot={all?.limits
          .map(({ kind, fetches = 0, from = 0, to = 0 }) =>
            texts.limit[kind]?.(units.fetches(fetches), formatInstant(from), formatInstant(to)),
          )
          .join(' ')}
      >
        {() => (
          <Table
            label={texts.byPage}
            rows={pages}
            rowKey={JSON.stringify}
            columns={[
              pageColumn(),
              countColumn('would', { width: '22%', phone: 'below' }, texts.wouldBe),
              column(texts.atRisk, { right: true, width: '18%', phone: 'below-end' }, Readers),
            ]}
          />
        )}
      </Panel>
    </div>
  )
}
const MAX_ROWS = 6

function Numbers({ all, rule }: { all: RulesRehearsal; rule: RehearsedRule }) {
  const { rules: texts } = t()
  const { would, action, readers } = rule
  const figure = (metric: string, label: string, value: number, whole: number) => (
    <Headline of="agent" {...{ metric, label, value }} under={texts.ofAll(formatMetric(metric, whole))} />
  )
  return (
    <div class="numbers">
      {figure('fetches', action === 'allow' ? texts.passed : texts.wouldBe, would.fetches, all.fetches)}
      {figure('bytes', texts.notSent, would.bytes, all.bytes)}
      {figure('duration', texts.originTime, would.duration_ms / 1_000, all.duration_ms / 1_000)}
      <Headline of="human" metric="visitors" label={texts.atRisk} value={readers} under={texts.cameFrom} />
    </div>
  )
}

/** Fetches that rules refused on one day, and would have refused. `readers`: people from the operators of a rule. */
interface RuleDay {
  day: string
  refused: number
  would: number
  readers?: number
}

/** The days of the window with what one rule did on them. */
export const daysOf = (all: RulesRehearsal, rule: RehearsedRule): RuleDay[] => {
  const own = new Map(rule.days.map((day) => [day.day, day]))
  return all.days.map(({ day }) => own.get(day) ?? { day, refused: 0, would: 0, readers: 0 })
}

/** The key of the dashed line: solid happened, dashed would have. */
export const DashKey = () => (
  <span class="legend">
    <span>
      <span class="key-dash strong" /> {t().rules.wouldHave}
    </span>
  </span>
)

interface RuleDaysProps {
  of: RulesRehearsal
  days: readonly RuleDay[]
  hasReaders?: boolean
}

/** Fetches by day that were refused, and dashed those that would have been, below the readers of the same operators. */
export function RuleDays({ of, days, hasReaders = false }: RuleDaysProps) {
  const { rules: texts, parts } = t()
  const [openNote, setOpenNote] = useState<number>()
  const starts = days.map(({ day }) => new Date(instantOf(`${day}T00:00`, timeZone.value)).toISOString())
  const notes = useNotes({ start: starts[0] ?? '', end: new Date().toISOString() })
  const note = notes.find(({ id }) => id === openNote)
  const buckets = (key: 'refused' | 'would' | 'readers') =>
    days.map((day, i) => ({ t: starts[i] ?? '', value: day[key] ?? 0 }))
  const gaps = of.limits.flatMap(({ kind, from: start = '', to: end = '' }) =>
    kind === 'not_recorded' ? [{ start, end, reason: parts.notRecorded }] : [],
  )
  const fetches = { of: 'agent', metric: 'fetches', unit: texts.refused, buckets: buckets('refused') } as const
  const readers = { of: 'human', metric: 'visitors', unit: texts.readersAxis, buckets: buckets('readers') } as const
  return (
    <>
      <TimeChart
        label={`${texts.didByDay}, ${windowName()}`}
        series={[
          ...(hasReaders ? [readers] : []),
          { ...fetches, comparison: buckets('would'), dashed: texts.wouldHave },
        ]}
        granularity="day"
        recorded={{ gaps }}
        {...{ notes, openNote, onNote: setOpenNote }}
      />
      {note && <NoteStrip note={note} among={notes} onOpen={setOpenNote} />}
    </>
  )
}

/** A number of people who arrived from the operators of a rule. */
export const Readers = ({ readers }: { readers: number }) => (
  <span class="no-wrap">
    <Mark of="human" /> <span class={readers > 0 ? 'people' : ''}>{formatNumber(readers)}</span>
  </span>
)

function agentColumns(): Column<RehearsedRule['agents'][number]>[] {
  const { rules: texts, parts, agents: names } = t()
  return [
    column(names.agent, {}, ({ agent_id, name, operator, identity, search_engine }) => (
      <>
        <RowName label={claimedName(name, { verification: identity, agent_id })} to={viewPath('agents', agent_id)} />
        <span class="muted small line">
          {identity !== 'spoofed' && `${operatorName(operator)} · `}
          {identity ? parts.verification[identity] : names.notChecked}
          {search_engine && <b> · {parts.purpose.search}</b>}
        </span>
      </>
    )),
    column(texts.wouldBe, { width: '24%', phone: 'end' }, ({ would, fetches }) =>
      texts.some(formatNumber(would), formatNumber(fetches)),
    ),
    column(texts.readersAxis, { right: true, width: '76px', phone: 'below-end' }, Readers),
    column(texts.after, { width: '28%', phone: 'below' }, ({ after }) => (
      <span class="muted small reason">
        {after
          ? texts.afterRule(formatDay(after.since), after.fetches_before, after.fetches_after)
          : texts.noRuleBefore}
      </span>
    )),
  ]
}
