import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { TabsLine } from '../../parts/agent-side.js'
import { Code, Form, toast } from '../../parts/dialogs.js'
import { Input, textOf } from '../../parts/fields.js'
import { Icon } from '../../parts/marks.js'
import { OutLink } from '../../parts/names.js'
import { hrefTo, place, viewPath } from '../../state/address.js'
import { client, send } from '../../state/client.js'
import { forget, useRead } from '../../state/data.js'
import { formatClock } from '../../state/format.js'
import { siteQuery } from '../../state/question.js'
import { hasRole, loadSession, scriptTag, site, siteAddress, timeZone } from '../../state/session.js'
import { whileVisible } from '../../state/visible.js'
import { t } from '../../texts/index.js'
import { Arrivals } from '../settings/arrivals.js'
import { ImportLogs } from '../settings/imports.js'
import { RefusedHostnames } from '../settings/refused-hostnames.js'
import { PROGRAMS, proxyCommand } from '../settings/snippets.js'
import '../../styles/settings.css'

/** The first minutes, in any order: whether the site responds, its name, its robots.txt, old logs, the script. Ends by itself. */
export function FirstRun() {
  const { firstRun: texts, overview } = t()
  const { empty } = overview
  const address = siteAddress() ?? 'https://www.example.com/'
  useEffect(() => whileVisible(3_000, () => forget('/api/stats/overview')), [])
  const policy = useRead('/api/policy', siteQuery.value, { every: 5_000 })
  const robots = policy.data?.robots
  return (
    <>
      <h1 class="title">{texts.title(site.value?.name ?? '')}</h1>
      <p class="muted first-run">{texts.text}</p>
      <div class="sheet">
        <ol class="cell span-8 setup-steps">
          <Step title={texts.reach} isDone={robots !== undefined && robots.standing !== 'unreachable'}>
            <p class="muted" role="status">
              {reachText(robots)}
            </p>
          </Step>
          <Step title={texts.name}>
            <p class="muted">{texts.nameText}</p>
            {hasRole('admin') ? <NameForm /> : <p class="muted">{t().parts.needsRole('admin')}</p>}
          </Step>
          <Step title="robots.txt" isDone={robots?.standing === 'served'}>
            <p class="muted">
              {robots === undefined
                ? texts.robotsLater
                : robots.standing === 'served'
                  ? t().policy.size(
                      robots.groups.reduce((sum, { rules }) => sum + rules.length, 0),
                      robots.groups.length,
                    )
                  : t().policy.standing(robots.standing, robots.status, robots.reason)}{' '}
              <a href={hrefTo({ path: viewPath('policy') })}>{texts.robotsLink}</a>
            </p>
          </Step>
          <Step title={texts.logs}>
            {hasRole('admin') ? <ImportLogs /> : <p class="muted">{t().parts.needsRole('admin')}</p>}
          </Step>
          <Step title={texts.waysIn}>
            <WaysIn />
          </Step>
        </ol>
        <section class="cell span-4">
          <h2>{t().settings.install.check}</h2>
          <Arrivals hasPeople={false} hasAgents={false} />
          <h3 class="section-title">{empty.asPerson}</h3>
          <p class="muted">{empty.asPersonText}</p>
          <p class="title-line">
            <OutLink href={address}>{address}</OutLink>
            <span class="pulse" />
            <span class="muted">{empty.waiting}</span>
          </p>
          <h3 class="section-title">{empty.asAgent}</h3>
          <p class="muted">{empty.asAgentText}</p>
          <Code text={`curl -A "GPTBot/1.3" ${address}`} />
          <h3 class="section-title">{texts.hosts}</h3>
          <p class="muted">{texts.hostsText(site.value?.domains ?? [])}</p>
          <RefusedHostnames />
          <h3 class="section-title">{texts.demo}</h3>
          <p class="muted">{texts.demoText}</p>
          <Code text="npm start" />
        </section>
      </div>
    </>
  )
}

const SCRIPT = 'Script'

/** The ways to put readership in front of the site or into it, one at a time: those of the page Install. */
function WaysIn() {
  const { firstRun: texts, overview, settings } = t()
  const { hostname, origin } = new URL(siteAddress() ?? 'https://www.example.com/')
  const { way = '' } = place.value.own
  const program = PROGRAMS.find(({ name }) => name === way)
  return (
    <>
      <TabsLine
        name="way"
        label={texts.waysIn}
        tabs={[['', 'Proxy'], ...PROGRAMS.map(({ name }) => [name, name] as const), [SCRIPT, SCRIPT]]}
      />
      {program ? (
        <>
          <Code text={`npm install readership ${program.packages}`.trim()} />
          <Code text={program.program(origin)} />
        </>
      ) : way === SCRIPT ? (
        <>
          <p class="muted">{overview.empty.scriptText}</p>
          <Code text={scriptTag()} />
        </>
      ) : (
        <>
          <p class="muted">{settings.install.proxyText}</p>
          <Code text={proxyCommand(hostname)} />
        </>
      )}
      <p class="muted">
        <a href={hrefTo({ path: viewPath('settings', 'install') })}>{texts.install}</a>
      </p>
    </>
  )
}

/** Whether the site responded when readership last asked it for its robots.txt, and when. */
function reachText(robots: DataOf<'/api/policy'>['robots']): string {
  const { firstRun: texts } = t()
  if (robots === undefined) return texts.reachLater
  const at = formatClock(robots.fetched_at)
  return robots.standing === 'unreachable'
    ? texts.reachFailed(at, robots.reason ?? `${robots.status}`)
    : texts.reached(at, robots.status)
}

const Step = ({ title, isDone, children }: { title: string; isDone?: boolean; children: ComponentChildren }) => (
  <li>
    <h2>
      {title} {isDone && <Icon name="check" />}
    </h2>
    {children}
  </li>
)

/** The site's name and zone; both can be changed later. */
function NameForm() {
  const { parts, settings } = t()
  const id = site.value?.id ?? 0
  const answer = useRead('/api/sites/{id}', id > 0 ? {} : undefined, { params: { id } })
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  return (
    <Form
      action={parts.save}
      submit={async (fields) => {
        const headers = answer.data ? { 'if-match': `"${answer.data.version}"` } : {}
        const body = { name: textOf(fields, 'name'), timezone: textOf(fields, 'timezone') }
        await send(client.PATCH('/api/sites/{id}', { params: { path: { id } }, body, headers }))
        await loadSession()
        forget()
        toast(parts.saved)
      }}
    >
      <div class="field-pair">
        <Input label={parts.name} name="name" required maxLength={100} defaultValue={site.value?.name} />
        <Input
          label={settings.site.timezone}
          name="timezone"
          required
          defaultValue={timeZone.value === 'UTC' ? zone : timeZone.value}
        />
      </div>
    </Form>
  )
}
