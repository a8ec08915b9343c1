import { useState } from 'preact/hooks'
import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { act, Dialog, Form, toast } from '../../parts/dialogs.js'
import { Input, textOf } from '../../parts/fields.js'
import { ListPanel } from '../../parts/list-panel.js'
import { Mark } from '../../parts/marks.js'
import { Cut } from '../../parts/names.js'
import { pageNumber } from '../../parts/paging.js'
import { Sentence, Sheet } from '../../parts/panel.js'
import type { Column } from '../../parts/table.js'
import { root } from '../../state/address.js'
import { forget, useRead } from '../../state/data.js'
import { formatDay, formatNumber } from '../../state/format.js'
import { mixedEnvelope, siteQuery } from '../../state/question.js'
import { create, remove } from '../../state/records.js'
import { hasRole } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { RedirectList } from './redirect-list.js'

const LIMIT = 50

type Row = DataOf<'/api/phantom-links'>[number]
type Redirect = DataOf<'/api/redirects'>[number]

const redirect = async (from: string, to: string): Promise<Redirect> => {
  const made = await create('/api/redirects', { from, to, status: 301 })
  forget('/api/redirects')
  return made
}

const undo = (made: Redirect) =>
  act(async () => {
    await remove('/api/redirects', { id: made.id })
    forget('/api/redirects')
  }, t().phantom.undone)

/** The addresses that do not exist, by the readers who left there, and what a redirect did. */
export default function PhantomLinks() {
  const texts = t().phantom
  const ask = { ...mixedEnvelope(), filters: undefined, segment: undefined, limit: LIMIT }
  const answer = useRead('/api/phantom-links', { ...ask, page: pageNumber() })
  const top = useRead('/api/phantom-links', { ...ask, page: 1 })
  const redirects = useRead('/api/redirects', { site: siteQuery.value.site })
  const [choosing, setChoosing] = useState<Row>()
  const rows = answer.data ?? []
  const total = answer.meta?.total
  const send = async (row: Row, to: string) => {
    const made = await redirect(row.pathname, to)
    toast(texts.redirects(to), { label: texts.undo, run: () => void undo(made) })
  }
  return (
    <Sheet title={t().shell.view['phantom-links']}>
      <Sentence answers={[top]}>{() => sentence(top.data?.[0], top.meta?.total ?? 0)}</Sentence>
      <ListPanel
        title={texts.title}
        aside={total === undefined ? '' : texts.byLost(formatNumber(total))}
        right={<ExportMenu report="phantom-links" only="agent" picture={false} />}
        answer={answer}
        class="roomy"
        emptyText={texts.none}
        skeleton={8}
        rows={rows}
        rowKey={({ hostname, pathname }) => hostname + pathname}
        columns={columns(rows, redirects.data ?? [], {
          redirect: (row, to) => void act(() => send(row, to)),
          choose: setChoosing,
        })}
        limit={LIMIT}
        below={<p class="muted small foot">{texts.foot}</p>}
      />
      <RedirectList redirects={redirects} right={<TakeElsewhere />} onRemove={(one) => void undo(one)} />
      {choosing && (
        <Dialog title={texts.chooseTitle(choosing.pathname.slice(0, 100))} onClose={() => setChoosing(undefined)}>
          <Form
            action={texts.redirect}
            onCancel={() => setChoosing(undefined)}
            submit={async (fields) => {
              await send(choosing, textOf(fields, 'to'))
              setChoosing(undefined)
            }}
          >
            <Input name="to" label={texts.target} hint={texts.targetHint} required />
          </Form>
        </Dialog>
      )}
    </Sheet>
  )
}

/** How many addresses were missing, and where most readers were lost. */
function sentence(most: Row | undefined, total: number): readonly unknown[] {
  const texts = t().phantom
  if (most === undefined) return texts.sentenceNone
  const path = <b>{most.pathname.slice(0, 200)}</b>
  return [
    ...texts.sentence(total),
    ...(most.lost > 0
      ? texts.mostLost(<span class="people">{t().units.people(most.lost)}</span>, path)
      : texts.mostAsked(path)),
    ...(most.since === undefined ? ['.'] : texts.since(formatDay(most.since))),
  ]
}

interface Actions {
  redirect(row: Row, to: string): void
  choose(row: Row): void
}

function columns(rows: readonly Row[], redirects: readonly Redirect[], actions: Actions): Column<Row>[] {
  const texts = t().phantom
  const most = Math.max(1, ...rows.flatMap(({ requests, fetches }) => [requests, fetches]))
  const of = ({ pathname }: Row) => redirects.find(({ from }) => from === pathname)
  const who = ({ agents }: Row) => agents.map(({ name, fetches }) => `${name} ${formatNumber(fetches)}`).join(', ')
  return [
    {
      key: 'address',
      head: texts.address,
      cell: (row) => (
        <>
          <Cut text={row.pathname} />
          <span class="muted small block">{who(row)}</span>
        </>
      ),
    },
    {
      key: 'people',
      head: texts.byWhom(<Mark of="human" />, <Mark of="agent" />),
      width: '24%',
      phone: 'below',
      cell: ({ requests, fetches }) => <Butterfly people={requests} agents={fetches} most={most} />,
    },
    {
      ...({ key: 'lost', head: texts.lost, right: true, width: '84px', phone: 'below-end' } as const),
      cell: ({ lost }) => (
        <>
          <b>{formatNumber(lost)}</b> <span class="narrow muted small">{texts.lost}</span>
        </>
      ),
    },
    {
      ...{ key: 'since', head: texts.sinceHead, right: true, wide: true, width: '76px' },
      cell: ({ since }) => <span class="muted">{since === undefined ? texts.back : formatDay(since)}</span>,
    },
    {
      key: 'nearest',
      head: texts.nearest,
      width: '22%',
      phone: 'third',
      cell: (row) =>
        row.nearest === undefined ? (
          <span class="muted">{texts.noneNear}</span>
        ) : (
          <>
            <Cut text={row.nearest.pathname} />
            <span class="muted small block">
              {texts.reason[row.nearest.reason]}
              {row.nearest.in_sitemap ? texts.inSitemap : ''}
            </span>
          </>
        ),
    },
    ...(hasRole('admin') ? [actionColumn(of, actions)] : []),
  ]
}

function actionColumn(of: (row: Row) => Redirect | undefined, actions: Actions): Column<Row> {
  const texts = t().phantom
  return {
    ...({ key: 'act', right: true, width: '124px', phone: 'end' } as const),
    head: <span class="visually-hidden">{t().shell.act}</span>,
    cell: (row) => {
      const existing = of(row)
      const { nearest } = row
      const name = row.pathname.slice(0, 100)
      const [word, run]: [string, () => void] = existing
        ? [texts.undo, () => void undo(existing)]
        : nearest
          ? [texts.redirect, () => actions.redirect(row, nearest.pathname)]
          : [texts.choose, () => actions.choose(row)]
      return (
        <button type="button" class="button plain" aria-label={`${word} ${name}`} onClick={run}>
          {word}
        </button>
      )
    },
  }
}

/** People to the left, assistants to the right, on one scale. */
function Butterfly({ people, agents, most }: { people: number; agents: number; most: number }) {
  const width = (n: number) => (n / most) * 32
  const [left, right] = [formatNumber(people), formatNumber(agents)]
  return (
    <svg class="chart" height="16" role="img" aria-label={t().phantom.both(left, right)}>
      <line x1="50%" x2="50%" y1="0" y2="16" stroke="var(--line)" />
      <rect x={`${50 - width(people)}%`} width={`${width(people)}%`} y="5" height="6" fill="var(--people)" />
      <rect x="50%" width={`${width(agents)}%`} y="5" height="6" fill="var(--agents)" />
      <text x={`${48 - width(people)}%`} y="12" text-anchor="end">
        {left}
      </text>
      <text x={`${52 + width(agents)}%`} y="12">
        {right}
      </text>
    </svg>
  )
}

/** The redirects as configuration of other servers. */
const TakeElsewhere = () => (
  <span class="muted">
    {t().phantom.exportFor}{' '}
    {(['nginx', 'caddy', 'apache'] as const).map((server) => (
      <a
        key={server}
        class="more"
        href={`${root.href.replace(/\/$/, '')}/api/redirects/export?site=${siteQuery.value.site ?? 0}&for=${server}`}
        download={`redirects.${server}.conf`}
      >
        {{ nginx: 'nginx', caddy: 'Caddy', apache: 'Apache' }[server]}{' '}
      </a>
    ))}
  </span>
)
