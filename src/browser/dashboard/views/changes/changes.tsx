import { useEffect, useRef, useState } from 'preact/hooks'
import { ChangeDays } from '../../charts/change-days.js'
import { NoteStrip } from '../../charts/note-strip.js'
import { type Note, useNotes } from '../../charts/notes.js'
import { WriteNote } from '../../charts/write-note.js'
import { TableButton } from '../../parts/buttons.js'
import { Chain, topRows } from '../../parts/change-chain.js'
import { type Changes, ComparedPart, changeName, changeSentences, signed, useChanges } from '../../parts/change-text.js'
import { Mark } from '../../parts/marks.js'
import { Cut } from '../../parts/names.js'
import { changeText } from '../../parts/numbers.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { Absent, Lacking, Warnings } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import { type Audience, go, place } from '../../state/address.js'
import { formatBucket, formatNumber } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { askable, audiences, type Pair } from '../../state/question.js'
import { onKey } from '../../state/view-keys.js'
import { windowName, windowOf } from '../../state/window.js'
import { t } from '../../texts/index.js'

type Answers = Pair<'/api/stats/changes'>

/** The dimension of each readership on a tab. */
const TABS = {
  pages: { human: 'entry_page', agent: 'pathname' },
  sections: { human: 'section', agent: 'section' },
  sources: { human: 'source', agent: 'agent_id' },
  countries: { human: 'country', agent: 'country' },
  campaigns: { human: 'utm_campaign', agent: undefined },
} as const satisfies Record<string, Record<Audience, string | undefined>>
type Tab = keyof typeof TABS

/** The view of rises and falls against the other time, as contributions that add up. */
export default function ChangesView() {
  const texts = t().changes
  const answers = useChanges()
  const shown = audiences.value
  const asked = askable.value === 'both' ? shown.map((of) => answers[of]) : [answers[askable.value]]
  // The sentence gives the reason.
  const said = asked.map(({ meta: _, ...answer }) => answer)
  return (
    <Sheet title={texts.title}>
      <Sentence answers={said}>{() => changeSentences(answers)}</Sentence>
      {shown.map((of) => (
        <Total key={of} of={of} answer={answers[of]} />
      ))}
      <Days answers={answers} />
      <Dimensions answers={answers} />
      <div class="cell">
        <p class="foot">{texts.adds}</p>
      </div>
    </Sheet>
  )
}

function Total({ of, answer }: { of: Audience; answer: Answers[Audience] }) {
  const texts = t().changes
  const { data } = answer
  return (
    <Panel
      span={audiences.value.length === 2 ? 6 : 12}
      title={
        <span class="marked">
          <Mark of={of} />
          {t().shell.show[of]}
        </span>
      }
      answers={[answer]}
      skeleton={2}
    >
      {() =>
        data?.difference === undefined || data.now === undefined ? (
          <Absent of={of}>{texts.unknown}</Absent>
        ) : (
          <>
            <p class="change-total">
              <b>{signed(data.difference)}</b>
              <span>
                {formatNumber(data.before ?? 0)} →{' '}
                <strong>
                  {
                    (of === 'human'
                      ? quantity('/api/stats/changes sessions', data.now)
                      : quantity('/api/stats/changes pageviews', data.now)
                    ).text
                  }
                </strong>{' '}
                {changeText('sessions', data.now, data.before)}
              </span>
            </p>
            <ComparedPart data={data} />
          </>
        )
      }
    </Panel>
  )
}

/** Each bucket against the one before, as bars or as a table, with notes. */
function Days({ answers }: { answers: Answers }) {
  const texts = t().changes
  const [asTable, setAsTable] = useState(false)
  const [openNote, setOpenNote] = useState<number>()
  const [writing, setWriting] = useState<Note>()
  useEffect(() => onKey('t', () => setAsTable((is) => !is)), [])
  const series = audiences.value.flatMap((of) => {
    const { data } = answers[of]
    return data && data.buckets.length > 0 ? [{ of, data }] : []
  })
  const first = series[0] && answers[series[0].of]
  const notes = useNotes(windowOf(first?.meta?.query))
  const note = notes.find(({ id }) => id === openNote)
  const granularity = series[0]?.data.granularity ?? 'day'
  return (
    <Panel
      title={texts.when}
      aside={texts.whenAside}
      right={<TableButton asTable={asTable} onTurn={setAsTable} />}
      answers={audiences.value.map((of) => answers[of])}
      empty={series.length === 0}
      emptyText={texts.unknown}
      skeleton={8}
    >
      {() => (
        <>
          {asTable ? (
            <Table
              label={texts.when}
              rows={series[0]?.data.buckets ?? []}
              rowKey={({ t: at }) => at}
              columns={[
                { key: 't', head: texts.bucket, cell: ({ t: at }) => formatBucket(at, granularity) },
                ...series.map(({ of, data }) => ({
                  key: of,
                  head: t().shell.show[of],
                  right: true,
                  cell: ({ t: at }: { t: string }) => {
                    const one = data.buckets.find((bucket) => bucket.t === at)
                    return one?.difference === undefined ? '–' : signed(one.difference)
                  },
                })),
              ]}
            />
          ) : (
            <ChangeDays
              series={series}
              notes={notes}
              openNote={openNote}
              onNote={setOpenNote}
              label={`${texts.when}, ${windowName()}`}
            />
          )}
          {note && <NoteStrip note={note} among={notes} onOpen={setOpenNote} onChange={() => setWriting(note)} />}
          {writing && <WriteNote note={writing} onClose={() => setWriting(undefined)} />}
          <Warnings of={series.map(({ of }) => answers[of].meta)} />
        </>
      )}
    </Panel>
  )
}

const dimensionOf = (data: Changes | undefined, name: string | undefined) =>
  data?.dimensions.find(({ dimension }) => dimension === name)

/** The tabs, each with the first row of both readerships, and the chains of the one that is open. */
function Dimensions({ answers }: { answers: Answers }) {
  const texts = t().changes
  const list = useRef<HTMLDivElement>(null)
  const all = Object.keys(TABS).filter((tab): tab is Tab =>
    audiences.value.some((of) => dimensionOf(answers[of].data, TABS[tab as Tab][of]) !== undefined),
  )
  const [wanted = 'sources'] = all.filter((tab) => tab === place.value.own.by)
  const open: Tab = all.includes(wanted) ? wanted : (all[0] ?? 'sources')
  if (all.length === 0) return null
  const pick = (tab: Tab) => go({ own: { ...place.value.own, by: tab === 'sources' ? '' : tab } }, true)
  const move = (by: number) => {
    const next = all[(all.indexOf(open) + by + all.length) % all.length] ?? open
    pick(next)
    list.current?.querySelectorAll('button')[all.indexOf(next)]?.focus()
  }
  return (
    <>
      <div
        class="cell change-tabs"
        role="tablist"
        aria-label={texts.dimensions}
        ref={list}
        onKeyDown={(event) => {
          const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
          if (by === undefined) return
          event.preventDefault()
          move(by)
        }}
      >
        {all.map((tab) => (
          <button
            key={tab}
            type="button"
            role="tab"
            id={`by-${tab}`}
            aria-selected={tab === open}
            aria-controls={`changes-${audiences.value[0]}`}
            tabIndex={tab === open ? 0 : -1}
            onClick={() => pick(tab)}
          >
            <span>{texts.tab[tab]}</span>
            {audiences.value.map((of) => (
              <TopRow key={of} of={of} data={answers[of].data} dimension={TABS[tab][of]} />
            ))}
          </button>
        ))}
      </div>
      {audiences.value.map((of) => (
        <Side key={of} of={of} answer={answers[of]} dimension={TABS[open][of]} />
      ))}
    </>
  )
}

function TopRow({ of, data, dimension }: { of: Audience; data: Changes | undefined; dimension: string | undefined }) {
  const found = dimensionOf(data, dimension)
  const [row] = found ? topRows(found, 1) : []
  return (
    <span class="top">
      <Mark of={of} />
      {row ? <Cut text={changeName(dimension ?? '', row)} /> : <span class="muted">–</span>}
      {row && <span>{signed(row.difference)}</span>}
    </span>
  )
}

function Side({ of, answer, dimension }: { of: Audience; answer: Answers[Audience]; dimension: string | undefined }) {
  const texts = t().changes
  const { data } = answer
  const divided = dimensionOf(data, dimension)
  return (
    <Panel
      span={audiences.value.length === 2 ? 6 : 12}
      title={
        <span class="marked">
          <Mark of={of} />
          {t().shell.show[of]}
        </span>
      }
      aside={dimension === undefined ? '' : (texts.dimension[dimension] ?? dimension)}
      answers={[answer]}
      skeleton={8}
    >
      {() => (
        <div id={`changes-${of}`} role="tabpanel" aria-label={t().shell.show[of]}>
          <Lacking of={of} />
          {dimension === undefined ? (
            <Absent of={of}>{texts.noCampaigns}</Absent>
          ) : divided && data?.difference !== undefined ? (
            <Chain
              of={of}
              dimension={divided}
              totals={{ now: data.now ?? 0, before: data.before ?? 0, difference: data.difference }}
            />
          ) : (
            <Absent of={of}>{data?.difference === undefined ? texts.unknown : texts.noneFor}</Absent>
          )}
        </div>
      )}
    </Panel>
  )
}
