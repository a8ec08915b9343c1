import { ViewLink } from '../../parts/names.js'
import '../../styles/behaviour.css'
import { ExportMenu } from '../../charts/export-menu.js'
import { Choices, LinkButton } from '../../parts/buttons.js'
import { Mark } from '../../parts/marks.js'
import { Panel, Sentence } from '../../parts/panel.js'
import { PeopleOnly } from '../../parts/people-only.js'
import { Lacking, Warnings } from '../../parts/states.js'
import { go, place } from '../../state/address.js'
import { formatShare } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { useOne } from '../../state/question.js'
import { hasRole, site } from '../../state/session.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { AgentWeeks, hasFewWeeks } from './agent-weeks.js'
import { CohortKey, CohortTable, cohortName, type Unit } from './cohort-table.js'
import { type Cohort, columnsOf, recordedFrom, returnsOf, stateOf } from './returns.js'

const UNITS = ['day', 'week', 'month'] as const

/** Periods as long as ids last, or longer, have no return. */
function unitsOf(): readonly Unit[] {
  const salt = site.value?.visitor_salt
  return salt === 'month' ? UNITS.slice(0, 2) : salt === 'week' || salt === 'day' ? UNITS.slice(0, 1) : UNITS
}

/** The people who came back, by when they first came, and the weeks in which agents fetched. */
export default function Retention() {
  const { shell, retention } = t()
  const isBoth = place.value.show === 'both'
  const agentSpan = hasFewWeeks(place.value) ? 3 : 5
  return (
    <PeopleOnly
      title={shell.view.retention}
      why={retention.agents}
      instead={['agents', 'coverage']}
      agents={<AgentWeeks span={isBoth ? agentSpan : 12} />}
    >
      {() => <Grid span={isBoth ? (agentSpan === 3 ? 9 : 7) : 12} />}
    </PeopleOnly>
  )
}

function Grid({ span }: { span: 7 | 9 | 12 }) {
  const texts = t().retention
  const chosen = unitsOf().find((unit) => unit === place.value.own.by)
  const answer = useOne('/api/stats/retention', 'human', { granularity: chosen, align: 'ids', compare: undefined })
  const counts = place.value.own.as === 'count'
  const unit = answer.data?.granularity ?? chosen ?? 'day'
  const cohorts = recordedFrom(answer.data?.cohorts ?? [])
  const isEmpty = cohorts.every(({ size }) => !size)
  const choose = (own: Record<string, string>) => go({ own: { ...place.value.own, ...own } }, true)
  // The panel explains changes of ids; a first cohort that was not recorded is not drawn.
  const said = ['salt_rotated_in_grid', ...(cohorts[0] === answer.data?.cohorts?.[0] ? [] : ['first_cohort_partial'])]
  const warnings = answer.meta?.warnings?.filter(({ code }) => !said.includes(code))
  return (
    <>
      <Sentence answers={[answer]}>{() => sentence(cohorts, unit)}</Sentence>
      <Panel
        span={span}
        title={
          <span class="marked">
            <Mark of="human" />
            {texts.title}
          </span>
        }
        aside={texts.aside[unit]}
        answers={[answer]}
        empty={isEmpty}
        skeleton={10}
        right={
          <>
            {unitsOf().length > 1 && (
              <Choices
                values={unitsOf()}
                now={unit}
                nameOf={(each) => t().parts.granularity[each]}
                onChoose={(each) => choose({ by: each })}
              />
            )}
            <LinkButton aria-pressed={counts} onClick={() => choose({ as: counts ? '' : 'count' })}>
              {counts ? texts.asShare : texts.asCount}
            </LinkButton>
            <ExportMenu
              report="retention"
              only="human"
              picture={false}
              more={{ align: 'ids', ...(chosen ? { granularity: chosen } : {}) }}
            />
          </>
        }
        foot={texts.foot}
      >
        {() => (
          <>
            <Lacking of="human" />
            <CohortTable cohorts={cohorts} unit={unit} counts={counts} />
            {columnsOf(cohorts) > 0 && <CohortKey cohorts={cohorts} />}
            <WhyHatched cohorts={cohorts} />
            <Warnings of={[answer.meta && { ...answer.meta, warnings }]} />
          </>
        )}
      </Panel>
    </>
  )
}

function sentence(cohorts: readonly Cohort[], unit: Unit): readonly unknown[] {
  const texts = t().retention
  const back = returnsOf(cohorts)
  if (back === undefined) {
    const isUnknown = cohorts.some(({ size, periods }) => size && stateOf(periods[1]) === 'unknown')
    return isUnknown || site.value?.visitor_salt === 'day'
      ? texts.saltChanged(whenText(), unit)
      : texts.tooEarly(whenText(), unit)
  }
  const people = quantity('/api/stats/retention size', back.people, (text) => (
    <ViewLink to={['visitors']}>{text}</ViewLink>
  ))
  const share = <span class="people">{formatShare(back.share)}</span>
  const { outlier } = back
  return [
    ...texts.sentence(whenText(), people, share, texts.after[unit]),
    ...(outlier
      ? (outlier.isLow ? texts.least : texts.most)(
          quantity('/api/stats/retention size', outlier.cohort.size ?? 0),
          cohortName(outlier.cohort, unit),
          formatShare(outlier.share),
        )
      : []),
  ]
}

/** Why some cells cannot be known, and the setting that decides it. */
function WhyHatched({ cohorts }: { cohorts: readonly Cohort[] }) {
  const texts = t().retention
  const salt = site.value?.visitor_salt
  const isUnknown = cohorts.some(({ periods }) =>
    periods.some((cell) => ['unknown', 'atLeast'].includes(stateOf(cell))),
  )
  if (salt === 'never' || (!isUnknown && salt !== 'day')) return null
  const name = texts.howLong
  const link = hasRole('admin') ? <ViewLink to={['settings', 'site']}>{name}</ViewLink> : name
  return (
    <>
      <h3 class="section-title">{texts.why}</h3>
      <p class="small">{texts.whyText(texts.changes[salt ?? 'month'], link)}</p>
    </>
  )
}
