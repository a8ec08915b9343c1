import type { ComponentChildren, ComponentProps } from 'preact'
import { LinkButton, useFew } from '../../parts/buttons.js'
import { claimedName, operatorName } from '../../parts/claimed-name.js'
import { countColumn } from '../../parts/columns.js'
import { Mark } from '../../parts/marks.js'
import { RowName } from '../../parts/names.js'
import { Panel, Sentence } from '../../parts/panel.js'
import { type Column, Table } from '../../parts/table.js'
import { viewPath } from '../../state/address.js'
import { formatBytes, formatDay, formatInstant, formatNumber, formatSeconds } from '../../state/format.js'
import type { Rehearsal, Rehearsed, RehearsedRule } from '../../state/rules.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { RuleDays } from './rule-days.js'

interface ResultProps {
  of: Rehearsed
  /** The rule on screen in the result. */
  rule: RehearsedRule | undefined
}

/** The search engines whose fetches a rule touches. */
export const enginesTouched = ({ search_engines }: RehearsedRule) => search_engines.filter(({ would }) => would > 0)

/** Says what the rule would have done. People are never touched, and it is always said. */
export function ResultSentence({
  of,
  rule,
  also,
}: ResultProps & { also: ComponentProps<typeof Sentence>['answers'][number] }) {
  const { rules: texts, units } = t()
  const engines = rule ? enginesTouched(rule).length : 0
  return (
    <Sentence answers={[of]} also={[also]}>
      {() =>
        rule && [
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
  const { data: all, cancel } = of
  const seconds = (ms: number) => formatSeconds(ms / 1_000)
  const figures = (all: Rehearsal, { would, readers, action }: RehearsedRule) => [
    [
      'agent',
      action === 'allow' ? texts.passed : texts.wouldBe,
      formatNumber(would.fetches),
      texts.ofAll(formatNumber(all.fetches)),
    ],
    ['agent', texts.notSent, formatBytes(would.bytes), texts.ofAll(formatBytes(all.bytes))],
    ['agent', texts.originTime, seconds(would.duration_ms), texts.ofAll(seconds(all.duration_ms))],
    ['human', texts.atRisk, formatNumber(readers), texts.cameFrom],
  ]
  return (
    <div class="rule-result" aria-live="polite">
      <Panel
        title={texts.rehearsal}
        aside={cancel ? texts.deciding : all && texts.decidedAgain(units.fetches(all.fetches))}
        right={cancel && <LinkButton onClick={cancel}>{parts.cancel}</LinkButton>}
        answers={[of]}
        skeleton={3}
        empty={!rule}
      >
        {() => (
          <div class="numbers">
            {(all && rule ? figures(all, rule) : []).map(([side, label, value, foot]) => (
              <div key={label} class="number">
                <span class="label">
                  <Mark of={side === 'human' ? side : 'agent'} /> {label}
                </span>
                <span class="value">{value}</span>
                <span class="change">{foot}</span>
              </div>
            ))}
          </div>
        )}
      </Panel>
      <Panel title={texts.days} answers={[of]} right={<Legend isRule />} skeleton={10} empty={!rule}>
        {() => all && rule && <RuleDays of={all} hasReaders days={daysOf(all, rule)} />}
      </Panel>
      <List title={texts.byAgent} of={of} rows={rule?.agents} columns={agentColumns(rule)} />
      <List title={texts.byPage} of={of} rows={rule?.pages} columns={pageColumns()} total={rule?.total_pages} />
      <div class="cell">
        {all && all.limits.length > 0 && (
          <div class="careful">
            <h2>{texts.cannotTell}</h2>
            {all.limits.map(({ kind, fetches = 0, from = 0, to = 0 }, i) => (
              <p class="muted small" key={i}>
                {texts.limit[kind]?.(units.fetches(fetches), formatInstant(from), formatInstant(to))}
              </p>
            ))}
          </div>
        )}
      </div>
    </div>
  )
}

/** All fetches of each day with what one rule did of them. */
export const daysOf = (all: Rehearsal, rule: RehearsedRule) => {
  const own = new Map(rule.days.map((day) => [day.day, day]))
  return all.days.map(({ day, fetches }) => ({
    ...{ refused: 0, would: 0, readers: 0 },
    ...own.get(day),
    day,
    fetches,
  }))
}

/** The key of the bars: solid happened, dashed would have. */
export const Legend = ({ isRule = false }: { isRule?: boolean }) => {
  const { readersAxis, passed, refused, wouldHave } = t().rules
  return (
    <span class="legend">
      {isRule && (
        <span>
          <Mark of="human" /> {readersAxis}
        </span>
      )}
      {Object.entries({ passed, refused, would: wouldHave }).map(([kind, word]) => (
        <span key={kind}>
          <i class={`swatch ${kind}`} /> {word}
        </span>
      ))}
    </span>
  )
}

interface ListProps<Row> {
  title: string
  of: Rehearsed
  rows: readonly Row[] | undefined
  columns: readonly Column<Row>[]
  total?: number | undefined
}

function List<Row>({ title, of, rows = [], columns, total }: ListProps<Row>) {
  const [few, more] = useFew(rows, 6)
  const aside = total === undefined ? undefined : t().units.pages(total)
  const empty = { empty: rows.length === 0, emptyText: t().rules.noAgent }
  return (
    <Panel title={title} aside={aside} right={more} answers={[of]} {...empty}>
      {() => <Table label={title} rows={few} rowKey={(row) => JSON.stringify(row)} columns={columns} />}
    </Panel>
  )
}

type Look = Omit<Column<unknown>, 'key' | 'head' | 'cell'>
/** A column of the tables of rules. */
export const column = <Row,>(
  head: ComponentChildren,
  look: Look,
  cell: (row: Row) => ComponentChildren,
): Column<Row> => ({ key: `${head}`, head, ...look, cell })

/** A number of people who arrived from the operators of a rule. */
export const Readers = ({ readers }: { readers: number }) => (
  <span class="no-wrap">
    <Mark of="human" /> <span class={readers > 0 ? 'people' : ''}>{formatNumber(readers)}</span>
  </span>
)

function agentColumns(rule: RehearsedRule | undefined): Column<RehearsedRule['agents'][number]>[] {
  const { rules: texts, parts, agents: names } = t()
  const most = Math.max(1, ...(rule?.agents ?? []).map(({ fetches }) => fetches))
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
    column(texts.wouldBe, { width: '30%', phone: 'end' }, ({ would, fetches }) => (
      <>
        <svg class="wide" width="100%" height="8" aria-hidden="true">
          <rect class="passed" y="1" width={`${(fetches / most) * 96}%`} height="6" />
          <rect class="would" x="1" y="1" width={`${(would / most) * 96}%`} height="6" />
        </svg>
        <span>{texts.some(formatNumber(would), formatNumber(fetches))}</span>
      </>
    )),
    column(texts.readersAxis, { right: true, width: '76px', phone: 'below-end' }, Readers),
    column(texts.after, { width: '24%', phone: 'below' }, ({ after }) => (
      <span class="muted small reason">
        {after
          ? texts.afterRule(formatDay(after.since), after.fetches_before, after.fetches_after)
          : texts.noRuleBefore}
      </span>
    )),
  ]
}

function pageColumns(): Column<RehearsedRule['pages'][number]>[] {
  const { rules: texts, overview } = t()
  return [
    column(overview.page, {}, ({ pathname }) => <RowName label={pathname} to={viewPath('pages', pathname)} />),
    countColumn('would', { width: '22%', phone: 'below' }, texts.wouldBe),
    column(texts.atRisk, { right: true, width: '18%', phone: 'below-end' }, Readers),
  ]
}
