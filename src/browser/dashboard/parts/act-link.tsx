import { hrefTo, viewPath } from '../state/address.js'
import { hasRole } from '../state/session.js'
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

/** The column that opens a rule about each row; no column for readers who may not change rules. */
export const actColumn = <R,>(ruleOf: (row: R) => Named): Column<R>[] =>
  hasRole('admin')
    ? [
        {
          ...{ key: 'act', right: true, wide: true, width: '68px' },
          head: <span class="visually-hidden">{t().shell.act}</span>,
          cell: (row) => <ActLink rule={ruleOf(row)} />,
        },
      ]
    : []
