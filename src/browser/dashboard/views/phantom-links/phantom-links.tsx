import { useState } from 'preact/hooks'
import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { BothSides } from '../../parts/both-sides.js'
import { PlainButton } from '../../parts/buttons.js'
import { buttonColumn, column, textColumn } from '../../parts/columns.js'
import { act, Dialog, Form, toast } from '../../parts/dialogs.js'
import { Elsewhere } from '../../parts/elsewhere.js'
import { Input, textOf } from '../../parts/fields.js'
import { ListPanel } from '../../parts/list-panel.js'
import { Mark } from '../../parts/marks.js'
import { Cut } from '../../parts/names.js'
import { pageNumber } from '../../parts/paging.js'
import { Sentence, Sheet } from '../../parts/panel.js'
import type { Column } from '../../parts/table.js'
import { forget, useRead } from '../../state/data.js'
import { formatDay, formatNumber, formatShare } from '../../state/format.js'
import { mixedEnvelope, siteQuery } from '../../state/question.js'
import { create, remove } from '../../state/records.js'
import { hasRole } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { Records } from '../settings/records.js'

const LIMIT = 50

type Row = DataOf<'/api/phantom-links'>[number]
type Redirect = DataOf<'/api/redirects'>[number]

const undo = (made: Redirect) =>
  act(async () => {
    await remove('/api/redirects', { id: made.id })
    forget('/api/redirects')
  }, t().phantom.undone)

const redirect = async (from: string, to: string): Promise<void> => {
  const made = await create('/api/redirects', { from, to, status: 301 })
  forget('/api/redirects')
  const texts = t().phantom
  toast(texts.redirects(to), { label: texts.undo, run: () => void undo(made) })
}

/** The addresses that do not exist, by the readers who left there, and the redirects of the site. */
export default function PhantomLinks() {
  const texts = t().phantom
  const ask = { ...mixedEnvelope(), filters: undefined, segment: undefined, limit: LIMIT }
  const answer = useRead('/api/phantom-links', { ...ask, page: pageNumber() })
  const top = useRead('/api/phantom-links', { ...ask, page: 1 })
  const redirects = useRead('/api/redirects', { site: siteQuery.value.site })
  const [from, setFrom] = useState<string>()
  const { data: rows = [], meta } = answer
  const close = () => setFrom(undefined)
  return (
    <Sheet title={t().shell.view['phantom-links']}>
      <Sentence answers={[top]}>{() => sentence(top.data?.[0], top.meta?.total ?? 0)}</Sentence>
      <ListPanel
        title={texts.title}
        aside={meta?.total !== undefined && texts.byLost(formatNumber(meta.total))}
        right={<ExportMenu report="phantom-links" only="agent" picture={false} />}
        answer={answer}
        class="roomy"
        emptyText={texts.none}
        rows={rows}
        rowKey={({ hostname, pathname }) => hostname + pathname}
        columns={columns(rows, redirects.data ?? [], setFrom)}
        limit={LIMIT}
        foot={texts.foot}
      />
      <Records
        title={texts.redirectsTitle}
        texts={{ intro: texts.redirectsIntro }}
        answer={redirects}
        path="/api/redirects"
        nameOf={(one) => one.from.slice(0, 100)}
        role="admin"
        remove={(one) => remove('/api/redirects', one)}
        above={<Elsewhere of="redirects" />}
        columns={[
          textColumn('from', texts.from, {}),
          textColumn('to', texts.to, { width: '30%' }),
          column<Redirect>(texts.status, { right: true, wide: true, width: '72px' }, ({ status }) => status),
          column<Redirect>(texts.sinceHead, { right: true, wide: true, width: '96px' }, (one) =>
            formatDay(one.created_at),
          ),
        ]}
      />
      {from !== undefined && (
        <Dialog title={texts.chooseTitle(from.slice(0, 100))} onClose={close}>
          <Form
            action={texts.redirect}
            onCancel={close}
            submit={async (fields) => {
              await redirect(from, textOf(fields, 'to'))
              close()
            }}
          >
            <Input name="to" label={texts.to} hint={texts.targetHint} required />
          </Form>
        </Dialog>
      )}
    </Sheet>
  )
}

/** How many addresses were missing, and where most readers were lost. */
function sentence(most: Row | undefined, total: number): readonly unknown[] {
  const texts = t().phantom
  if (most === undefined) return [texts.none]
  const path = <b>{most.pathname.slice(0, 200)}</b>
  return [
    ...texts.sentence(total),
    ...(most.lost > 0
      ? texts.mostLost(<span class="people">{t().units.people(most.lost)}</span>, path)
      : texts.mostAsked(path)),
    most.since === undefined ? '.' : texts.since(formatDay(most.since)),
  ]
}

function columns(rows: readonly Row[], redirects: readonly Redirect[], choose: (from: string) => void): Column<Row>[] {
  const texts = t().phantom
  const most = Math.max(1, ...rows.flatMap(({ requests, fetches }) => [requests, fetches]))
  const buttonOf = ({ pathname, nearest, redirect: known }: Row): [string, () => unknown] => {
    const made = redirects.find(({ id, from }) => id === known?.id || from === pathname)
    if (made) return [texts.undo, () => undo(made)]
    if (nearest) return [texts.redirect, () => act(() => redirect(pathname, nearest.pathname))]
    return [texts.choose, () => choose(pathname)]
  }
  return [
    column(texts.address, {}, ({ pathname, agents, redirect: made }) => (
      <>
        <Cut text={pathname} />
        {made?.before && made.after && (
          <span class="small line">{texts.compared(lossOf(made.before), lossOf(made.after), made.days)}</span>
        )}
        <span class="muted small line">
          {agents.map(({ name, fetches }) => `${name} ${formatNumber(fetches)}`).join(', ')}
        </span>
      </>
    )),
    {
      ...{ key: 'whom', width: '24%', phone: 'below' },
      head: texts.byWhom(<Mark of="human" />, <Mark of="agent" />),
      cell: ({ requests, fetches }) => (
        <BothSides
          people={requests}
          agents={fetches}
          most={{ people: most, agents: most }}
          label={texts.both(formatNumber(requests), formatNumber(fetches))}
          format={formatNumber}
        />
      ),
    },
    column(texts.lost, { right: true, width: '84px', phone: 'below-end' }, ({ lost }) => (
      <>
        <b>{formatNumber(lost)}</b> <span class="narrow muted small">{texts.lost}</span>
      </>
    )),
    column(texts.sinceHead, { right: true, width: '76px' }, ({ since }) => (
      <span class="muted">{since === undefined ? texts.back : formatDay(since)}</span>
    )),
    column(texts.nearest, { width: '22%', phone: 'third' }, ({ nearest }) =>
      nearest === undefined ? (
        <span class="muted">{texts.noneNear}</span>
      ) : (
        <>
          <Cut text={nearest.pathname} />
          <span class="muted small line">
            {texts.reason[nearest.reason]}
            {nearest.in_sitemap && texts.inSitemap}
          </span>
        </>
      ),
    ),
    ...buttonColumn<Row>(
      '124px',
      hasRole('admin') &&
        ((row) => {
          const [word, run] = buttonOf(row)
          return (
            <PlainButton aria-label={`${word} ${row.pathname.slice(0, 100)}`} onClick={() => void run()}>
              {word}
            </PlainButton>
          )
        }),
    ),
  ]
}

/** Readers lost, and their share where enough of them came to tell. */
const lossOf = ({ lost, share }: { lost: number; share?: number }): string =>
  formatNumber(lost) + (share === undefined ? '' : ` (${formatShare(share, 0)})`)
