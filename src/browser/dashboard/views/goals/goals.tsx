import { useState } from 'preact/hooks'
import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { LinkButton } from '../../parts/buttons.js'
import { changingColumns, countText } from '../../parts/columns.js'
import { Confirm, toast } from '../../parts/dialogs.js'
import { ListPanel } from '../../parts/list-panel.js'
import { Icon } from '../../parts/marks.js'
import { Cut, RowName } from '../../parts/names.js'
import { pageNumber } from '../../parts/paging.js'
import { Sentence } from '../../parts/panel.js'
import { PeopleOnly } from '../../parts/people-only.js'
import type { Column } from '../../parts/table.js'
import { hrefTo, place } from '../../state/address.js'
import { forget, useRead } from '../../state/data.js'
import { formatMoney, formatShare } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { shareSlug, siteQuery, useOne } from '../../state/question.js'
import { remove } from '../../state/records.js'
import { hasRole } from '../../state/session.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import '../../styles/behaviour.css'
import type { GoalRecord } from './condition.js'
import { describeCondition } from './describe.js'
import { GoalDialog } from './goal-dialog.js'

const LIMIT = 100
type Row = DataOf<'/api/stats/goals'>[number]

/** The goals of the site and how many people reached each. */
export default function Goals() {
  const { shell, behaviour } = t()
  return (
    <PeopleOnly title={shell.view.goals} why={behaviour.goals.agents} instead={['citation-gap', 'agents']}>
      {() => <GoalList />}
    </PeopleOnly>
  )
}

type Open = { kind: 'new' } | { kind: 'edit' | 'delete'; goal: GoalRecord }

/** The list of goals, and the dialogs that change them. Long because they share what is open. */
function GoalList() {
  const texts = t().behaviour.goals
  const answer = useOne('/api/stats/goals', 'human', { limit: LIMIT, page: pageNumber() })
  const { data: goals } = useRead(
    '/api/goals',
    shareSlug.value === undefined && siteQuery.value.site !== undefined ? { site: siteQuery.value.site } : undefined,
  )
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const rows = answer.data ?? []
  const goalOf = (id: number) => goals?.find((goal) => goal.id === id)
  const canWrite = hasRole('member')
  return (
    <>
      <Sentence answers={[answer]}>
        {() => {
          const best = rows.filter(({ visitors }) => visitors).sort((a, b) => (b.visitors ?? 0) - (a.visitors ?? 0))[0]
          const filter = { dimension: 'goal', op: 'is', value: best?.name ?? '' }
          const link = best && (
            <a href={hrefTo({ filters: [...place.value.filters, filter] })}>{best.name.slice(0, 80)}</a>
          )
          return texts.sentence(
            whenText(),
            rows.length,
            link,
            quantity('/api/stats/goals visitors', best?.visitors ?? 0),
            best?.rate === undefined ? '' : formatShare(best.rate),
          )
        }}
      </Sentence>
      <ListPanel
        title={t().shell.view.goals}
        answer={answer}
        emptyText={
          <>
            {texts.empty}{' '}
            {canWrite && (
              <button type="button" class="button" onClick={() => setOpen({ kind: 'new' })}>
                {texts.create}
              </button>
            )}
          </>
        }
        right={
          <>
            {canWrite && rows.length > 0 && (
              <LinkButton onClick={() => setOpen({ kind: 'new' })}>
                <Icon name="plus" /> {texts.create}
              </LinkButton>
            )}
            <ExportMenu report="goals" only="human" picture={false} />
          </>
        }
        foot={rows.length > 0 && texts.foot}
        lacking="human"
        rows={rows}
        rowKey={({ id }) => `${id}`}
        columns={goalColumns(goalOf, canWrite ? setOpen : undefined).filter(
          ({ key }) => key !== 'revenue' || rows.some(({ revenue = [] }) => revenue.length > 0),
        )}
        limit={LIMIT}
      />
      {open?.kind === 'new' && <GoalDialog onClose={close} />}
      {open?.kind === 'edit' && (
        <GoalDialog goal={open.goal} onClose={close} onDelete={() => setOpen({ kind: 'delete', goal: open.goal })} />
      )}
      {open?.kind === 'delete' && <DeleteGoal goal={open.goal} onClose={close} />}
    </>
  )
}

/** The columns of the goals; `onOpen` undefined: the reader cannot change them. Long because each column has its cell. */
function goalColumns(
  goalOf: (id: number) => GoalRecord | undefined,
  onOpen: ((open: Open) => void) | undefined,
): readonly Column<Row>[] {
  const { parts, behaviour } = t()
  const texts = behaviour.goals
  return [
    {
      key: 'name',
      head: t().parts.name,
      cell: ({ name }) => <RowName label={name} filter={['goal', name]} />,
    },
    {
      key: 'match',
      head: texts.counts,
      width: '26%',
      wide: true,
      cell: ({ id }) => {
        const goal = goalOf(id)
        return <span class="muted">{goal && <Cut text={describeCondition(goal)} />}</span>
      },
    },
    ...changingColumns('visitors', { width: '88px', changeWidth: '104px' }),
    {
      key: 'rate',
      head: texts.rate,
      right: true,
      width: '104px',
      cell: ({ rate }) => (rate === undefined ? '–' : formatShare(rate)),
    },
    {
      key: 'conversions',
      head: texts.conversions,
      right: true,
      wide: true,
      rare: true,
      width: '112px',
      cell: ({ conversions }) => countText(conversions),
    },
    { key: 'revenue', head: texts.revenue, right: true, width: '14%', wide: true, cell: money },
    {
      key: 'do',
      head: <span class="visually-hidden">{parts.edit}</span>,
      right: true,
      width: '84px',
      cell: ({ id }) => {
        const goal = goalOf(id)
        if (!goal || !onOpen) return null
        return (
          <LinkButton aria-label={`${parts.edit}: ${goal.name}`} onClick={() => onOpen({ kind: 'edit', goal })}>
            {parts.edit}
          </LinkButton>
        )
      },
    },
  ]
}

/** Amounts per currency: they are never added across. */
const money = ({ conversions, revenue = [] }: Row) =>
  // Without conversions nothing was recorded: an amount of 0 would say more than is known.
  conversions === undefined ? '–' : revenue.map(({ currency, amount }) => formatMoney(amount, currency)).join(', ')

function DeleteGoal({ goal, onClose }: { goal: GoalRecord; onClose: () => void }) {
  const { parts, behaviour } = t()
  return (
    <Confirm
      title={behaviour.goals.deleteTitle}
      text={behaviour.goals.deleteText(goal.name)}
      action={parts.delete}
      onClose={onClose}
      submit={async () => {
        await remove('/api/goals', { id: goal.id })
        forget('/goals')
        onClose()
        toast(parts.deleted)
      }}
    />
  )
}
