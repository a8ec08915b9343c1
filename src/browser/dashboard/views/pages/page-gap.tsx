import { ZoneScale } from '../../charts/zone-scale.js'
import type { DataOf } from '../../client/index.js'
import { Ranked } from '../../parts/lists.js'
import { Panel } from '../../parts/panel.js'
import { VerdictTag } from '../../parts/tags.js'
import { citedAgainst } from '../../state/citation.js'
import type { Result } from '../../state/data.js'
import { formatRatio, formatShort } from '../../state/format.js'
import { t } from '../../texts/index.js'

type Gap = DataOf<'/api/citation-gap/summary'>

/** Reads by assistants against the people whom they sent to the page. */
export function PageGap({ gap }: { gap: Result<'/api/citation-gap/summary'> }) {
  const texts = t().pages.gap
  const verdict = gap.data && verdictOf(gap.data)
  return (
    <Panel
      span={5}
      title={t().shell.view['citation-gap']}
      right={verdict && <VerdictTag of={verdict} />}
      answers={[gap]}
      foot={texts.foot}
      skeleton={8}
    >
      {() => gap.data && <Drawn gap={gap.data} verdict={verdict} />}
    </Panel>
  )
}

/** The verdict of the page's URL; of several hostnames, the one that most of them have. */
function verdictOf({ urls }: Gap): string | undefined {
  const [first] = Object.entries(urls)
    .filter(([, count]) => count > 0)
    .toSorted(([, a], [, b]) => b - a)
  return first?.[0]
}

function Drawn({ gap, verdict }: { gap: Gap; verdict: string | undefined }) {
  const texts = t().pages.gap
  const { fetches, arrivals, ratio, median, threshold } = gap
  const short = (n: number) => formatRatio(n)
  const shownRatio = ratio === undefined ? texts.noArrival : texts.ratio(short(ratio))
  const isJudged = verdict === 'gap' || verdict === 'earning' || verdict === 'balanced'
  const senders = gap.operators.filter((row) => row.arrivals > 0).toSorted((a, b) => b.arrivals - a.arrivals)
  return (
    <>
      <div class="two gap-figures">
        <div>
          <div class="figure agents">{fetches === undefined ? '–' : formatShort(fetches)}</div>
          <p class="muted small">{texts.reads}</p>
        </div>
        <div>
          <div class="figure people">{arrivals === undefined ? '–' : formatShort(arrivals)}</div>
          <p class="muted small">{texts.arrivals}</p>
        </div>
      </div>
      <p class="gap-words">
        <b>{fetches === 0 ? texts.noReads : shownRatio}</b> {verdict === 'blocked' && texts.blocked}
        {verdict === 'insufficient' && texts.insufficient}
        {isJudged &&
          (median === undefined
            ? texts.noMedian
            : `${texts.median(short(median))}${meaningOf(verdict, ratio, median)}`)}
      </p>
      {isJudged && median !== undefined && median > 0 && (
        <ZoneScale
          ratio={ratio}
          median={median}
          threshold={threshold}
          label={texts.scale(
            ratio === undefined ? '∞' : short(ratio),
            t().parts.verdict[verdict] ?? verdict,
            short(median),
          )}
        />
      )}
      {senders.length > 0 && (
        <Ranked
          of="human"
          metric="arrivals"
          rows={senders.slice(0, 5).map(({ operator = t().parts.unknown, arrivals: sent }) => ({
            label: operator,
            value: sent,
          }))}
        />
      )}
    </>
  )
}

/** Says what the ratio means for the page; for a balanced one also by which factor it is off the median. */
function meaningOf(verdict: 'gap' | 'earning' | 'balanced', ratio: number | undefined, median: number): string {
  const texts = t().pages.gap
  if (verdict !== 'balanced') return texts.means[verdict]
  const { kind, factor } = citedAgainst(ratio ?? median, median)
  return texts.balanced[kind](formatRatio(factor))
}
