import type { Rehearsed } from '../../src/api/rehearsal/shape.js'
import type { DecidingRule } from '../../src/rules/rule.js'
import type { AgentEventRow, EventRow, Rows } from '../../src/storage/rows.js'
import type { Random } from '../fixtures/random.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

/*
 * Random fetches and visits, and a second opinion on what rules would have done with them: one loop over all rows, with
 * matching of its own.
 */

const HOUR = 3_600_000
const LENGTHS = { minute: 60_000, hour: HOUR, day: 24 * HOUR }

const agent = (user_agent: string, id: string, operator: string, purpose: string, isChecked = true) => ({
  ...{ user_agent, id, operator, purpose, isChecked },
})
const AGENTS = [
  agent('GPTBot/1.2', 'gptbot', 'OpenAI', 'training'),
  agent('Mozilla/5.0 (compatible; GPTBot/1.3; +https://openai.com/gptbot)', 'gptbot', 'OpenAI', 'training'),
  agent('Mozilla/5.0 (compatible; Googlebot/2.1)', 'googlebot', 'Google', 'search'),
  agent('Bytespider', 'bytespider', 'ByteDance', 'training'),
  agent('Feedly/1.0', 'feedly', 'Feedly', 'feed'),
  agent('codex-cli/0.1', 'codex-cli', 'OpenAI', 'assistant', false),
  agent('strange-bot/0.1', 'other', 'Unknown', 'other', false),
] as const
/** An agent that only its signature shows: live it passes. */
const DISGUISED = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'
const IDENTITIES = { ranges: 'verified', rdns: 'verified', spoofed: 'spoofed', unverifiable: 'unverifiable' } as const
const VERIFIED = { ranges: true, rdns: true, spoofed: false, unverifiable: null, indeterminate: null } as const
const PATHS = ['/', '/docs/a', '/docs/%61', '/docs/b/c', '/blog/x', '/robots.txt', '/map.xml', '/sitemap.xml'] as const
/** Robots.txt names this one; the name of the other shows what it is. */
export const SITEMAPS = ['/map.xml']
const NEVER = new Set(['/robots.txt', '/map.xml', '/sitemap.xml'])

/** Returns fetches and visits of some days, also before and after the window. */
export function randomRows(random: Random, start: Date, days: number, count: number): Rows {
  const anyTime = () => start.getTime() - LENGTHS.day + random.int((days + 2) * LENGTHS.day)
  /** Half of it in two hours, so that responses are open while others arrive. */
  const when = () => new Date(random.int(2) === 0 ? anyTime() : start.getTime() + LENGTHS.day + random.int(2 * HOUR))
  const agent_events = Array.from({ length: count }, (): AgentEventRow => {
    const one = random.of(AGENTS)
    const verification = random.of<keyof typeof VERIFIED>([
      'ranges',
      'rdns',
      'spoofed',
      'unverifiable',
      'indeterminate',
    ])
    const disguised = random.int(20) === 0 && { user_agent: DISGUISED }
    const action = random.int(4) > 0 ? null : random.of(['allow', 'block', 'limit'])
    const robots_allowed = random.of([true, false, null])
    return agentRow({
      ...{ timestamp: when(), agent_id: one.id, operator: one.operator, purpose: one.purpose },
      ...{ user_agent: one.user_agent, ...disguised, verification, verified: VERIFIED[verification] },
      ...{ method: random.of(['GET', 'GET', 'HEAD']), hostname: random.of(['a.example', 'b.example']) },
      ...{ pathname: random.of(PATHS), status: random.of([200, 200, 404]), bytes: random.int(5_000) },
      ...{ duration_ms: random.int(5) === 0 ? random.int(300_000) : random.int(50), robots_allowed },
      ...{ ip_hash: BigInt(1 + random.int(4)), action, rule: action === null ? null : 1 + random.int(3) },
    })
  })
  const events = Array.from({ length: count }, (_, n): EventRow => {
    const timestamp = when()
    const [channel, source] = random.of([
      ['AI Assistants', 'ChatGPT'],
      ['Organic Search', 'Google'],
      ['Paid Search', 'Google'],
      ['Referral', 'ChatGPT'],
      ['Direct', null],
    ])
    const pathname = random.of(PATHS)
    const isFirst = random.int(3) > 0
    return eventRow({
      ...{ timestamp, channel, source, pathname, visitor_id: BigInt(n), session_id: BigInt(n) },
      ...{ session_start: isFirst ? timestamp : new Date(timestamp.getTime() - 1_000), entry_page: pathname },
      hostname: random.of(['a.example', 'b.example']),
    })
  })
  return { events, agent_events }
}

type Known = (typeof IDENTITIES)[keyof typeof IDENTITIES] | undefined
interface Fetch {
  row: AgentEventRow
  of: (typeof AGENTS)[number] | undefined
  identity: Known
  bytes: number
  ms: number
}

const isRefused = ({ action }: AgentEventRow) => action !== null && action !== 'allow'
const isVerdict = (word: string): word is keyof typeof IDENTITIES => Object.hasOwn(IDENTITIES, word)
const identityOf = (verification: string | null): Known =>
  verification !== null && isVerdict(verification) ? IDENTITIES[verification] : undefined
const glob = (pattern: string) =>
  new RegExp(
    `^${pattern.replace(/[.+?()[\]{}]/g, '\\$&').replace(/\*+/g, (stars) => (stars === '*' ? '[^/]*' : '.*'))}$`,
  )
const matchesPath = ({ paths }: DecidingRule, pathname: string) =>
  !NEVER.has(pathname) && (paths.length === 0 || paths.some((one) => glob(one).test(decodeURIComponent(pathname))))

/** Whether a rule matches, its budget aside. */
function matches(rule: DecidingRule, { row, of }: Fetch, identity: Known): boolean {
  if (!of || rule.except.includes(of.id) || !matchesPath(rule, row.pathname)) return false
  const isNamed =
    rule.agents.includes(of.id) ||
    rule.operators.includes(of.operator) ||
    rule.purposes.some((purpose) => purpose === of.purpose)
  if (!isNamed && rule.agents.length + rule.operators.length + rule.purposes.length > 0) return false
  if (rule.methods.length > 0 && !rule.methods.includes(row.method)) return false
  if (rule.disallowed && row.robots_allowed !== false) return false
  if (rule.until !== undefined && row.timestamp.getTime() >= Date.parse(rule.until)) return false
  if (rule.identity.length > 0 && (identity === undefined || !rule.identity.includes(identity))) return false
  const isSpared = ['search', 'feed', 'social', 'monitor'].includes(of.purpose) && !isNamed && rule.action !== 'allow'
  return !isSpared || identity === 'spoofed'
}

/** Decides by a list of rules; `identities` are those that each fetch is decided with, if they are known already. */
function decideAll(rules: readonly DecidingRule[], fetches: readonly Fetch[], identities?: readonly Known[]) {
  const used: { key: string; at: number; amount: number }[] = []
  const before = new Map<string, number>()
  return fetches.map((fetch, n) => {
    const { row, of, identity: known } = fetch
    const at = row.timestamp.getTime()
    const caller = `${row.ip_hash} ${of?.id}`
    const isFirst = of?.isChecked === true && !(at - (before.get(caller) ?? -HOUR) < HOUR)
    before.set(caller, at)
    const decideAs = (identity: Known) => {
      const counted: { key: string; rule: DecidingRule }[] = []
      for (const rule of rules) {
        if (!matches(rule, fetch, identity)) continue
        const { budget } = rule
        if (budget === undefined) return { rule, counted }
        const holder = { address: row.ip_hash, agent: of?.id, operator: of?.operator }[budget.by]
        const keyAt = (time: number) => `${rule.id} ${holder} ${Math.floor(time / LENGTHS[budget.per])}`
        const sum = used
          .filter((one) => one.key === keyAt(at) && one.at <= at)
          .reduce((all, one) => all + one.amount, 0)
        if (sum >= budget.limit) return { rule, counted }
        counted.push({ key: keyAt(budget.unit === 'bytes' ? at + fetch.ms : at), rule })
      }
      return { rule: undefined, counted }
    }
    const mayWait = (identity: Known) =>
      rules.some(
        ({ strict, ...rule }) =>
          strict && !matches({ ...rule, strict }, fetch, undefined) && matches({ ...rule, strict }, fetch, identity),
      )
    const identity = identities ? identities[n] : isFirst && !mayWait(known) ? undefined : known
    const { rule, counted } = decideAs(identity)
    if (rule === undefined || rule.action === 'allow')
      for (const { key, rule: one } of counted)
        used.push(
          one.budget?.unit === 'bytes' ? { key, at: at + fetch.ms, amount: fetch.bytes } : { key, at, amount: 1 },
        )
    return { fetch, rule, identity }
  })
}

const dayOf = (at: Date) => new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Berlin' }).format(at)
const sumOf = <T>(list: readonly T[], of: (one: T) => number) => list.reduce((sum, one) => sum + of(one), 0)
const groupBy = <T>(list: readonly T[], key: (one: T) => string) => {
  const groups = new Map<string, T[]>()
  for (const one of list) groups.set(key(one), [...(groups.get(key(one)) ?? []), one])
  return [...groups]
}
const byText = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1)

/** Recounts the answer of a rehearsal, but for the limits of the record and the behaviour after a refusal. */
export function expectRehearsal(
  { events, agent_events }: Rows,
  rules: readonly DecidingRule[],
  { start, end, days }: { start: Date; end: Date; days: readonly string[] },
) {
  const isIn = ({ timestamp }: { timestamp: Date }) => timestamp >= start && timestamp < end
  const rows = agent_events.filter(isIn).sort((a, b) => a.timestamp.getTime() - b.timestamp.getTime())
  const fetches = rows.map((row): Fetch => {
    const of = AGENTS.find(({ user_agent }) => user_agent === row.user_agent)
    const served = rows.findLast(
      (one) => !isRefused(one) && one.status === 200 && one.hostname === row.hostname && one.pathname === row.pathname,
    )
    const identity = of && !of.isChecked ? 'unverifiable' : identityOf(row.verification)
    const weighed = isRefused(row) ? served : row
    return { row, of, identity, bytes: weighed?.bytes ?? 0, ms: weighed?.duration_ms ?? 0 }
  })
  const decided = decideAll(rules, fetches)
  const identities = decided.map(({ identity }) => identity)
  const refused = rows.filter(isRefused)
  const ofDay = <T>(list: readonly T[], at: (one: T) => Date, day: string) =>
    list.filter((one) => dayOf(at(one)) === day)
  const isWould = ({ rule }: (typeof decided)[number]) => rule !== undefined && rule.action !== 'allow'
  const atOf = ({ fetch }: (typeof decided)[number]) => fetch.row.timestamp
  const pageOf = ({ hostname, pathname }: { hostname: string; pathname: string }) => `${hostname}${pathname}`
  return {
    fetches: rows.length,
    bytes: sumOf(rows, ({ bytes }) => bytes ?? 0),
    duration_ms: sumOf(rows, ({ duration_ms }) => duration_ms ?? 0),
    refused: { fetches: refused.length },
    days: days.map((day) => ({
      day,
      fetches: ofDay(rows, (row) => row.timestamp, day).length,
      refused: ofDay(refused, (row) => row.timestamp, day).length,
      would: ofDay(decided.filter(isWould), atOf, day).length,
    })),
    rules: rules.map((rule, place) => {
      const its = decided.filter((one) => one.rule === rule)
      const genuine = new Set(
        its.flatMap(({ fetch: { of, row } }) =>
          identityOf(row.verification) === 'spoofed' ? [] : (of?.operator ?? []),
        ),
      )
      const operatorOf = ({ channel, source }: EventRow) =>
        channel === 'AI Assistants' ? 'OpenAI' : channel === 'Organic Search' && source === 'Google' ? 'Google' : ''
      const readers = events.filter(
        (one) =>
          isIn(one) &&
          rule.action !== 'allow' &&
          one.timestamp.getTime() === one.session_start.getTime() &&
          genuine.has(operatorOf(one)) &&
          matchesPath(rule, one.pathname),
      )
      const readersOf = (operator: string | undefined) => readers.filter((one) => operatorOf(one) === operator).length
      const alone = decideAll([rule], fetches, identities)
      const taken = groupBy(
        decided.filter((one, n) => alone[n]?.rule && one.rule && rules.indexOf(one.rule) < place),
        (one) => String(one.rule?.id),
      ).sort(([, a], [, b]) => b.length - a.length)
      const pages = groupBy(its, ({ fetch }) => pageOf(fetch.row)).sort(byText)
      const agents = groupBy(its, ({ fetch }) => `${fetch.of?.id} ${identityOf(fetch.row.verification) ?? ''}`).sort(
        byText,
      )
      return {
        ...{ id: rule.id, name: rule.name, state: rule.state, action: rule.action },
        refused: { fetches: refused.filter((row) => row.rule === rule.id).length },
        would: {
          fetches: its.length,
          bytes: sumOf(its, ({ fetch }) => fetch.bytes),
          duration_ms: sumOf(its, ({ fetch }) => fetch.ms),
        },
        days: days.map((day) => ({
          day,
          refused: ofDay(refused, (row) => row.timestamp, day).filter((row) => row.rule === rule.id).length,
          would: ofDay(its, atOf, day).length,
          readers: ofDay(readers, (one) => one.timestamp, day).length,
        })),
        agents: agents.map(([key, list]) => {
          const [id, identity] = key.split(' ')
          const same = fetches.filter(
            ({ of, row }) => of?.id === id && (identityOf(row.verification) ?? '') === (identity ?? ''),
          )
          return {
            ...{ agent_id: id, would: list.length, fetches: same.length, ...(identity && { identity }) },
            readers: identity === 'spoofed' ? 0 : readersOf(list[0]?.fetch.of?.operator),
          }
        }),
        pages: pages.map(([page, list]) => ({
          page,
          would: list.length,
          readers: readers.filter((one) => pageOf(one) === page).length,
        })),
        total_pages: pages.length,
        readers: readers.length,
        search_engines: agents
          .map(([key]) => key)
          .filter((key) => rule.action !== 'allow' && key === 'googlebot verified'),
        ...(its.length === 0 && taken[0]
          ? { never_decides: { by: Number(taken[0][0]), fetches: taken[0][1].length } }
          : {}),
      }
    }),
  }
}

/** An answer in the form of `expectRehearsal`, whose lists are in an order of their own, without what speaks against rules. */
export const comparable = ({ limits: _, rules, ...all }: Rehearsed) => ({
  ...all,
  rules: rules.map(({ agents, pages, search_engines, problems: _problems, named_search_engines: _named, ...rule }) => ({
    ...rule,
    agents: agents
      .map(({ name: _name, operator: _operator, search_engine: _engine, after: _after, ...one }) => one)
      .sort((a, b) => byText([`${a.agent_id} ${a.identity ?? ''}`, 0], [`${b.agent_id} ${b.identity ?? ''}`, 0])),
    pages: pages
      .map(({ hostname, pathname, ...page }) => ({ page: `${hostname}${pathname}`, ...page }))
      .sort((a, b) => byText([a.page, 0], [b.page, 0])),
    search_engines: search_engines.map(({ agent_id, identity }) => `${agent_id} ${identity}`),
  })),
})
