import { ViewLink } from '../../parts/names.js'
import { Sentence } from '../../parts/panel.js'
import { hrefTo, place } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { formatNumber, formatShare } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { mixedEnvelope, useOne } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'

/** How many visits came from AI assistants: the opening of a view about agents while people alone are on screen. */
export function ArrivalsSentence() {
  const gap = useRead('/api/citation-gap/summary', mixedEnvelope())
  const arrivals = gap.data?.arrivals ?? 0
  return (
    <Sentence answers={[gap]}>
      {() =>
        t().agents.sentencePeople(
          whenText(),
          quantity('/api/citation-gap arrivals', arrivals, (text) => (
            <ViewLink class="people" to={['citation-gap']}>
              {text}
            </ViewLink>
          )),
        )
      }
    </Sentence>
  )
}

/** How many fetches are verified, spoofed, and cannot be checked; and what they are for. */
export function AgentsSentence() {
  if (place.value.show === 'human') return <ArrivalsSentence />
  return <IdentitySentence />
}

function IdentitySentence() {
  const texts = t().agents
  const totals = useOne('/api/agents/overview', 'agent')
  const purposes = useOne('/api/agents/breakdown', 'agent', { dimension: 'purpose', limit: 20 })
  return (
    <Sentence answers={[totals]} also={[purposes]}>
      {() => {
        const {
          fetches = 0,
          verified_fetches = 0,
          spoofed = 0,
          indeterminate = 0,
          unverifiable = 0,
        } = totals.data ?? {}
        if (fetches === 0) return texts.sentenceNone(whenText())
        const only = (value: string, text: string, color = '') => (
          <a
            class={color}
            href={hrefTo({ filters: [...place.value.filters, { dimension: 'verification', op: 'is', value }] })}
          >
            {text}
          </a>
        )
        const share = formatShare(verified_fetches / Math.max(1, verified_fetches + spoofed))
        const unknown = indeterminate + unverifiable
        const byAi = PURPOSE_TABS.flatMap((tab) => (purposes.data ?? []).filter(({ value }) => value === tab))
        const shares = byAi.map(({ value, fetches: n = 0 }) => ({
          name: t().parts.purpose[`${value}`] ?? `${value ?? ''}`,
          share: (
            <a href={hrefTo({ own: { purpose: `${value}` } })} key={`${value}`}>
              {formatShare(n / fetches)}
            </a>
          ),
        }))
        const checked = verified_fetches + spoofed
        const all = quantity('/api/agents/overview fetches', fetches)
        return [
          ...(checked === 0
            ? texts.sentenceUnchecked(all, texts.unchecked(unknown))
            : texts.sentence(
                all,
                formatNumber(checked),
                only('verified', texts.areVerified(verified_fetches, share), 'agents'),
                only('spoofed', texts.areSpoofed(spoofed), spoofed > 0 ? 'alert' : ''),
                texts.unchecked(unknown),
              )),
          ...(shares.length > 0 ? texts.purposes(shares) : []),
        ]
      }}
    </Sentence>
  )
}

export const PURPOSE_TABS = ['training', 'search', 'assistant'] as const
