import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { column, urlColumn } from '../../parts/columns.js'
import { ListPanel } from '../../parts/list-panel.js'
import { pageNumber } from '../../parts/paging.js'
import { Sentence, Sheet } from '../../parts/panel.js'
import type { Column } from '../../parts/table.js'
import { useRead } from '../../state/data.js'
import { formatNumber } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { mixedEnvelope } from '../../state/question.js'
import { t } from '../../texts/index.js'
import { later } from '../../texts/later.js'

const LIMIT = 50

type Row = DataOf<'/api/blank-pages'>[number]

/** The pages that programs find empty, refused or replaced by a notice, beside what the browser shows. */
export default function BlankPages() {
  const texts = later().blank
  const ask = { ...mixedEnvelope(), limit: LIMIT }
  const answer = useRead('/api/blank-pages', { ...ask, page: pageNumber() })
  const top = useRead('/api/blank-pages', { ...ask, page: 1 })
  const { data: rows = [], meta } = answer
  const sampled = useRead('/api/editions', top.data?.length === 0 ? { ...ask, limit: 1 } : undefined)
  const none = sampled.meta?.total === 0 ? later().editions.none : texts.none
  return (
    <Sheet title={t().shell.view['blank-pages']}>
      <Sentence answers={[top]}>{() => sentence(top.data?.[0], top.meta?.total ?? 0, none)}</Sentence>
      <ListPanel
        title={texts.title}
        aside={meta?.total !== undefined && texts.byReaders(formatNumber(meta.total))}
        right={<ExportMenu report="blank-pages" only="agent" picture={false} />}
        answer={answer}
        class="roomy"
        emptyText={none}
        rows={rows}
        rowKey={({ hostname, pathname }) => hostname + pathname}
        columns={columns(rows)}
        limit={LIMIT}
        foot={texts.foot}
      />
    </Sheet>
  )
}

/** How many pages have a problem, and where most readers are at stake. */
function sentence(first: Row | undefined, total: number, none: string): readonly unknown[] {
  const texts = later().blank
  if (first === undefined) return [none]
  const readers = quantity('/api/blank-pages readers', first.readers, (text) => <span class="people">{text}</span>)
  const path = <b>{first.pathname.slice(0, 200)}</b>
  return [
    ...texts.sentence(quantity('/api/blank-pages total', total)),
    ...(first.readers > 0 ? texts.mostAtStake(readers, path, problemsOf(first)) : []),
  ]
}

/** Says what is wrong with a page. People who got one that no sample shows may be signed in. */
const problemsOf = ({ problems, served }: Row): string => {
  const { problem, refusedUnsampled } = later().blank
  return problems
    .map((name) => (name === 'agents_refused' && served === undefined ? refusedUnsampled : problem[name]))
    .join('; ')
}

function columns(rows: readonly Row[]): Column<Row>[] {
  const texts = later().blank
  return [
    urlColumn(rows, texts.page, (row) => (
      <>
        <span class="muted small line">{problemsOf(row)}</span>
        {row.refusals > 0 && (
          <span class="muted small line">
            {row.refused.map(({ name, refusals }) => `${name} ${formatNumber(refusals)}`).join(', ')}
          </span>
        )}
      </>
    )),
    column(texts.served, { width: '27%', phone: 'below', named: true }, ({ served, served_to_agents }) => (
      <>
        <Side of={served} absent={texts.notSampled} />
        {served_to_agents && (
          <>
            <b class="small line">{texts.toAgents}</b>
            <Side of={served_to_agents} absent="" />
          </>
        )}
      </>
    )),
    column(texts.living, { width: '27%', phone: 'third', named: true }, ({ living }) => (
      <Side of={living} absent={texts.notDescribed} />
    )),
    column(texts.readers, { right: true, width: '84px', phone: 'end', named: true }, ({ readers }) => (
      <b>{formatNumber(readers)}</b>
    )),
  ]
}

/** How much text a document has, its first line, and the language and address that it names. */
function Side({ of, absent }: { of: Row['living'] | Row['served']; absent: string }) {
  const texts = later().blank
  if (of === undefined) return <span class="muted small">{absent}</span>
  const { text_length, headings, links, first_line, title, lang, canonical }: NonNullable<Row['served']> = of
  const named = [lang && texts.language(lang), canonical && texts.canonical(canonical.slice(0, 200))].filter(Boolean)
  return (
    <>
      <span class="small">{texts.amount(text_length, headings, links)}</span>
      <span class="muted small line">{first_line ?? title ?? texts.noText}</span>
      {named.length > 0 && <span class="muted small line">{named.join(', ')}</span>}
    </>
  )
}
