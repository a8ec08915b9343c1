import { ExportMenu } from '../../charts/export-menu.js'
import { PlainButton } from '../../parts/buttons.js'
import { Fact, Facts } from '../../parts/facts.js'
import { Mark } from '../../parts/marks.js'
import { Panel, Sheet } from '../../parts/panel.js'
import { Warnings } from '../../parts/states.js'
import { hrefTo, viewPath } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { formatBytes, formatDays, formatMoney, formatNumber, formatSeconds } from '../../state/format.js'
import { hasRole, site } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { later } from '../../texts/later.js'

interface LetterProps {
  ask: Record<string, string | number | undefined>
  operator: string
}

/** Opens the form of an alert on a budget, filled in; nothing for readers who may not make one. */
export const BudgetLink = ({ operator = '' }: { operator?: string }) =>
  hasRole('member') ? (
    <a class="more" href={hrefTo({ path: viewPath('settings', 'alerts'), own: { new: 'budget', operator } })}>
      {later().bill.alert}
    </a>
  ) : null

/** One operator's page, to be printed and sent: what its agents took and what it gave. */
export function Letter({ ask, operator }: LetterProps) {
  const texts = later().bill
  const answer = useRead('/api/bill', { ...ask, operator })
  const { data, meta } = answer
  const spoofed = data?.spoofed_fetches ?? 0
  return (
    <div class="bill letter">
      <p class="crumb no-print">
        <a href={hrefTo({ path: viewPath('bill') })}>{t().shell.view.bill}</a>
      </p>
      <Sheet>
        <Panel
          title={<h1 class="title">{texts.letterTitle(operator.slice(0, 100), site.value?.name ?? '')}</h1>}
          answers={[answer]}
          skeleton={8}
          right={
            <span class="right no-print">
              <BudgetLink operator={operator} />
              <ExportMenu report="bill" only="agent" picture={false} more={{ operator }} />
              <PlainButton onClick={() => print()}>{texts.print}</PlainButton>
            </span>
          }
          foot={data && texts.letterFoot(formatNumber(spoofed), spoofed)}
        >
          {() =>
            data && (
              <>
                <p class="muted">{formatDays(data.buckets[0]?.t ?? '', data.buckets.at(-1)?.t ?? '')}</p>
                <Facts>
                  {data.agents?.map(({ agent_id, name, purpose, fetches = 0, bytes }) => (
                    <Fact
                      key={`${agent_id} ${purpose}`}
                      name={`${name}, ${t().parts.purpose[purpose] ?? purpose}`.slice(0, 100)}
                    >
                      {texts.fetchesAndBytes(formatNumber(fetches), bytes === undefined ? '–' : formatBytes(bytes))}
                    </Fact>
                  ))}
                  <Fact name={texts.origin}>
                    {data.origin_seconds === undefined ? texts.notKnown : formatSeconds(data.origin_seconds)}
                  </Fact>
                  <Fact name={texts.atPrices}>
                    {data.cost === undefined ? texts.noPrices : <b>{formatMoney(data.cost, data.currency)}</b>}
                  </Fact>
                  <Fact name={texts.readers}>
                    <Mark of="human" /> <b class="people">{formatNumber(data.readers ?? 0)}</b>
                  </Fact>
                  {data.goals !== undefined && <Fact name={texts.goalsReached}>{formatNumber(data.goals)}</Fact>}
                  <Fact name={texts.disallowed}>{formatNumber(data.disallowed_fetches)}</Fact>
                </Facts>
                <Warnings of={[meta]} />
              </>
            )
          }
        </Panel>
      </Sheet>
    </div>
  )
}
