import { useState } from 'preact/hooks'
import { LinkButton } from '../../parts/buttons.js'
import { Confirm, toast } from '../../parts/dialogs.js'
import { Icon } from '../../parts/marks.js'
import { Panel, Sentence } from '../../parts/panel.js'
import { PeopleOnly } from '../../parts/people-only.js'
import { go, hrefTo, place, view, viewPath } from '../../state/address.js'
import { forget, type Result, useRead } from '../../state/data.js'
import { shareSlug, siteQuery } from '../../state/question.js'
import { remove } from '../../state/records.js'
import { hasRole } from '../../state/session.js'
import { t } from '../../texts/index.js'
import '../../styles/behaviour.css'
import type { FunnelRecord } from './funnel.js'
import { FunnelBuilder } from './funnel-builder.js'
import { FunnelResult } from './funnel-result.js'

/** Steps that people should take one after the other, and where they leave. */
export default function Funnels() {
  const { shell, behaviour } = t()
  return (
    <PeopleOnly title={shell.view.funnels} why={behaviour.funnels.agents} instead={['agents', 'coverage']}>
      {() => <Chosen />}
    </PeopleOnly>
  )
}

/** The funnel in the address (`funnels/3`, `funnels/3/edit`, `funnels/new`), else the first one. */
function Chosen() {
  const [, word, act] = view.value
  const list = useRead(
    '/api/funnels',
    shareSlug.value === undefined && siteQuery.value.site !== undefined ? { site: siteQuery.value.site } : undefined,
  )
  if (word === 'new') return <FunnelBuilder />
  const named = list.data?.find(({ id }) => `${id}` === word)
  if (named && act === 'edit') return <FunnelBuilder key={named.id} funnel={named} />
  // A share link shows a funnel by its number, without the list.
  const id = word !== undefined && /^\d+$/.test(word) ? Number(word) : list.data?.[0]?.id
  return (
    <>
      {/* The chosen funnel stands above the list, and may be known by the list alone: its room is kept until then. */}
      {id !== undefined ? <FunnelResult key={id} id={id} /> : list.loading && <FunnelRoom list={list} />}
      {(id !== undefined || !list.loading) && <FunnelList list={list} current={id} />}
    </>
  )
}

/** The sentence and the bars of a funnel while it is not known which one is shown. */
function FunnelRoom({ list: { meta: _, ...list } }: { list: Result<'/api/funnels'> }) {
  return (
    <>
      <Sentence answers={[list]}>{() => ''}</Sentence>
      <Panel title={t().behaviour.funnels.title} answers={[list]} skeleton={8}>
        {() => null}
      </Panel>
    </>
  )
}

function FunnelList({ list, current }: { list: Result<'/api/funnels'>; current: number | undefined }) {
  const { parts, behaviour } = t()
  const texts = behaviour.funnels
  const [doomed, setDoomed] = useState<FunnelRecord>()
  const funnels = list.data ?? []
  const canWrite = hasRole('member')
  const create = (
    <a class="more" href={hrefTo({ path: viewPath('funnels', 'new') })}>
      <Icon name="plus" /> {texts.create}
    </a>
  )
  if (shareSlug.value !== undefined) return null
  return (
    <Panel
      title={t().shell.view.funnels}
      answers={[list]}
      empty={funnels.length === 0}
      emptyText={
        <>
          {texts.empty} {canWrite ? create : parts.needsRole('member')}
        </>
      }
      right={canWrite && funnels.length > 0 && create}
    >
      {() => (
        <>
          <ul class="ranked funnel-list">
            {funnels.map((funnel) => (
              <li key={funnel.id}>
                <span class="row-name">
                  <a
                    class="cut"
                    dir="auto"
                    aria-current={funnel.id === current ? 'true' : undefined}
                    href={hrefTo({ path: viewPath('funnels', funnel.id) })}
                  >
                    {funnel.name.slice(0, 200)}
                  </a>
                  <span class="muted small cut" dir="auto">
                    {funnel.steps.map(({ label }) => label).join(' → ')}
                  </span>
                </span>
                {canWrite && (
                  <span class="right">
                    <a class="more" href={hrefTo({ path: viewPath('funnels', funnel.id, 'edit') })}>
                      {parts.edit}
                      <span class="visually-hidden">: {funnel.name}</span>
                    </a>
                    <LinkButton onClick={() => setDoomed(funnel)}>
                      {parts.delete}
                      <span class="visually-hidden">: {funnel.name}</span>
                    </LinkButton>
                  </span>
                )}
              </li>
            ))}
          </ul>
          {doomed && <DeleteFunnel funnel={doomed} onClose={() => setDoomed(undefined)} />}
        </>
      )}
    </Panel>
  )
}

function DeleteFunnel({ funnel, onClose }: { funnel: FunnelRecord; onClose: () => void }) {
  const { parts, behaviour } = t()
  return (
    <Confirm
      title={behaviour.funnels.deleteTitle}
      text={behaviour.funnels.deleteText(funnel.name)}
      action={parts.delete}
      onClose={onClose}
      submit={async () => {
        await remove('/api/funnels', { id: funnel.id })
        forget('/api/funnels')
        onClose()
        toast(parts.deleted)
        go({ path: viewPath('funnels'), own: place.value.own }, true)
      }}
    />
  )
}
