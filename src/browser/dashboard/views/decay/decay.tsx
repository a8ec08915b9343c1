import { pageColumn } from '../../parts/columns.js'
import { ListPanel } from '../../parts/list-panel.js'
import '../../styles/agents.css'
import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { Meanings } from '../../parts/meanings.js'
import { PageLink } from '../../parts/names.js'
import { pageNumber } from '../../parts/paging.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import type { Column } from '../../parts/table.js'
import { VerdictTag } from '../../parts/tags.js'
import { place } from '../../state/address.js'
import { unrecordedComparison } from '../../state/comparison.js'
import { useRead } from '../../state/data.js'
import { formatNumber, formatShare } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { mixedEnvelope } from '../../state/question.js'
import { t } from '../../texts/index.js'

const LIMIT = 50

type Row = DataOf<'/api/content/decay'>[number]

/** The pages that lose people while agents go on reading them, against the window before. */
export default function Decay() {
  const texts = t().decay
  const ask = (page: number) => ({ ...mixedEnvelope(), limit: LIMIT, page })
  const answer = useRead('/api/content/decay', ask(pageNumber()))
  // The rows that the sentence is about are on the first page.
  const top = useRead('/api/content/decay', ask(1))
  const rows = answer.data ?? []
  const hasBefore = unrecordedComparison(answer.meta) === undefined
  return (
    <Sheet title={texts.title}>
      <Sentence answers={[top]}>
        {() => (hasBefore || !top.data?.length ? sentence(top.data ?? [], top.meta?.total) : texts.sentenceTooFew)}
      </Sentence>
      <ListPanel
        title={texts.title}
        aside={texts.against}
        right={<ExportMenu report="content/decay" only="agent" picture={false} />}
        answer={answer}
        rows={rows}
        skeleton={10}
        rowKey={({ hostname, pathname }) => hostname + pathname}
        columns={columns(hasBefore)}
        limit={LIMIT}
      />
      <Panel title={texts.meanings}>
        {() => (
          <Meanings
            rows={(['decaying', 'fading', 'steady', 'blocked', 'insufficient'] as const).map((verdict) => ({
              key: verdict,
              tag: <VerdictTag of={verdict} />,
              text: texts.meaning[verdict],
            }))}
          />
        )}
      </Panel>
    </Sheet>
  )
}

/** The page that loses most people while agents go on reading it; if none does, the page that lost most. */
function sentence(rows: readonly Row[], total = rows.length): readonly unknown[] {
  const texts = t().decay
  if (rows.length === 0) return texts.sentenceEmpty
  const change = (row: Row, of: 'people' | 'agents') =>
    texts.fromTo(formatNumber(row[of].before), quantity(`/api/content/decay ${of}`, row[of].now))
  const decaying = rows.find(({ verdict }) => verdict === 'decaying')
  if (decaying)
    return texts.sentence(<PageLink path={decaying.pathname} />, change(decaying, 'people'), change(decaying, 'agents'))
  const lost = ({ people }: Row) => people.before - people.now
  // Less is within chance.
  const [most] = rows
    .filter((row) => lost(row) > 2 * Math.sqrt(row.people.before + row.people.now))
    .toSorted((a, b) => lost(b) - lost(a))
  // Verdicts come before losses in the order of the rows, so that the first rows do not show who lost most of all.
  if (most && total <= rows.length)
    return texts.lost(<PageLink path={most.pathname} />, change(most, 'people'), texts.why[most.verdict])
  return rows.every(({ verdict }) => verdict === 'insufficient') ? texts.sentenceTooFew : texts.sentenceNone
}

/** A relative change, as `▼ 12 %`. */
const change = (value: number | undefined) =>
  value === undefined ? (
    <span class="muted">–</span>
  ) : value === 0 ? (
    <span class="muted">{t().parts.noChange}</span>
  ) : (
    <span class="muted no-wrap">
      {value > 0 ? '▲' : '▼'} {formatShare(Math.abs(value))}
    </span>
  )

const isNew = () => <span class="muted">{t().parts.newHere}</span>

function columns(hasBefore: boolean): Column<Row>[] {
  const texts = t().decay
  const { show } = place.value
  const side = (of: 'people' | 'agents', name: string): Column<Row>[] => [
    {
      key: of,
      head: name,
      right: true,
      width: '17%',
      cell: (row) => (
        <span class="no-wrap">
          <span class="muted wide-only">{hasBefore ? `${formatNumber(row[of].before)} →` : ''}</span>{' '}
          {formatNumber(row[of].now)}
        </span>
      ),
    },
    {
      key: `${of}-change`,
      head: t().parts.change,
      right: true,
      wide: true,
      width: '10%',
      cell: (row) =>
        hasBefore && row[of].before === 0 && row[of].now > 0 ? isNew() : change(hasBefore ? row[of].change : undefined),
    },
  ]
  return [
    pageColumn(),
    ...(show === 'agent' ? [] : side('people', texts.people)),
    ...(show === 'agent'
      ? []
      : [
          {
            key: 'adjusted',
            head: texts.adjusted,
            right: true,
            wide: true,
            rare: true,
            width: '13%',
            cell: ({ people }: Row) => change(hasBefore ? people.adjusted : undefined),
          },
        ]),
    ...(show === 'human' ? [] : side('agents', texts.agents)),
    { key: 'verdict', head: t().overview.verdict, width: '108px', cell: ({ verdict }) => <VerdictTag of={verdict} /> },
  ]
}
