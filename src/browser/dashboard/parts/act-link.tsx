import { hrefTo, viewPath } from '../state/address.js'
import { hasRole } from '../state/session.js'
import { isOpenView } from '../state/shared-scopes.js'
import { t } from '../texts/index.js'
import type { Column } from './table.js'

/** The fields that a link to a new rule fills in. */
export type Prefill = Partial<
  Record<'name' | 'agents' | 'operators' | 'identity' | 'disallowed' | 'paths' | 'action', string>
>

/** The move to a new rule, filled in and in rehearsal. */
export const newRule = (own: Prefill = {}) => ({ path: viewPath('rules', 'new'), own })

type Named = Prefill & { name: string }

/** Opens a rule about a number on screen; nothing for readers who may not change rules. */
export const ActLink = ({ rule, isButton = false }: { rule: Named; isButton?: boolean }) =>
  hasRole('admin') ? (
    <a
      class={isButton ? 'button plain' : 'more'}
      href={hrefTo({ ...newRule(rule), filters: [], segment: undefined })}
      aria-label={t().rules.actOn(rule.name.slice(0, 100))}
    >
      {t().shell.act}
    </a>
  ) : null

/** Opens the folder of evidence about an agent in the window on screen; nothing for readers of a share link. */
export const EvidenceLink = ({ agent, isButton = false }: { agent: string; isButton?: boolean }) =>
  isOpenView('evidence') ? (
    <a
      class={isButton ? 'button plain' : 'more'}
      href={hrefTo({ path: viewPath('evidence'), own: { agent }, filters: [], segment: undefined })}
    >
      {t().shell.view.evidence}
    </a>
  ) : null

/** The column that opens a rule about each row, and the evidence about its agent; no column for readers who may do neither. */
export const actColumn = <R,>(ruleOf: (row: R) => Named, agentOf?: (row: R) => string): Column<R>[] =>
  hasRole('admin') || (agentOf && isOpenView('evidence'))
    ? [
        {
          ...{ key: 'act', right: true, wide: true, width: agentOf ? '88px' : '68px' },
          head: <span class="visually-hidden">{t().shell.act}</span>,
          cell: (row) => (
            <>
              <ActLink rule={ruleOf(row)} />
              {agentOf && (
                <div>
                  <EvidenceLink agent={agentOf(row)} />
                </div>
              )}
            </>
          ),
        },
      ]
    : []
