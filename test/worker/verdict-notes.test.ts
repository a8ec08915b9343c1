import t from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import { VERDICTS } from '../../src/agents/verdict.js'
import { supplyVerdicts } from '../../src/app/instance/rule-verdicts.js'
import type { ClaimVerdict } from '../../src/capture/decision.js'
import { nameRuleSet } from '../../src/rules/build-rule-set.js'
import { DecidingRule } from '../../src/rules/rule.js'
import { createLiveRules } from '../../src/site/rules/live-rules.js'
import { createVerdictNotes } from '../../src/worker/verdict-notes.js'

const catalog = loadCatalog()
const gptbot = catalog.get('gptbot')
const request = { method: 'GET', hostname: 's', pathname: '/', ip: '192.0.2.1' }
const signed = { ...request, headers: { 'signature-input': 'x' } }
const expected = (identity: ClaimVerdict['identity'], isSigned = false) => [
  { ip: '192.0.2.1', agent_id: 'gptbot', isSigned, identity },
]

t.test('verdicts are sent while rules ask for them, once in ten minutes', async (t) => {
  let now = 1_000_000
  let verdict: (typeof VERDICTS)[keyof typeof VERDICTS] = VERDICTS.spoofed
  const sent: ClaimVerdict[] = []
  const notes = createVerdictNotes(
    (verdicts) => sent.push(...verdicts),
    () => now,
  )
  const verifier = notes.noting({ signer: () => undefined, check: () => ({ now: verdict }) })
  const check = async (one: typeof request, agent = gptbot) => {
    verifier.check(agent, one, now)
    await new Promise(setImmediate)
    return sent.splice(0)
  }
  t.same(await check(request), [], 'not while no rule asks')
  notes.setNoting(true)
  t.same(await check(request), expected('spoofed'))
  t.same(await check(request), [], 'known')
  t.same(await check(signed), expected('spoofed', true), 'signed requests have verdicts of their own')
  verdict = VERDICTS.ranges
  t.same(await check(request), expected('verified'), 'another verdict')
  now += 600_000
  t.same(await check(request), expected('verified'), 'before the site forgets it')
  verdict = VERDICTS.indeterminate
  t.same(await check(request), [], 'a claim that could not be checked')
  notes.setNoting(false)
  verdict = VERDICTS.spoofed
  t.same(await check(request), [])
})

t.test('the worker sends verdicts only while a rule needs them', async (t) => {
  const rules = createLiveRules({ agents: () => catalog.agents, now: () => 0 })
  let subscribers = 0
  const stop = supplyVerdicts(rules, {
    onVerdicts() {
      subscribers += 1
      return () => {
        subscribers -= 1
      }
    },
    call: async () => 'spoofed',
  })
  const apply = (fields: object) => {
    const rule = DecidingRule.parse({ id: 1, name: 'x', action: 'block', state: 'on', ...fields })
    rules.apply(nameRuleSet([{ site: 1, domains: [], rules: [rule], sitemaps: [], robots: [], redirects: [] }]))
    return subscribers
  }
  t.equal(subscribers, 0)
  t.equal(apply({ agents: ['gptbot'] }), 0, 'a rule that does not ask')
  t.equal(apply({ identity: ['spoofed'] }), 1)
  t.equal(apply({ identity: ['spoofed'], agents: ['gptbot'] }), 1, 'once')
  t.equal(apply({ agents: ['gptbot'] }), 0)
  t.equal(apply({ paths: ['/x'] }), 1, 'a rule that spares search engines asks for their identity')
  t.equal(await rules.checkClaim({ ip: 'x', agent_id: 'gptbot' }), 'spoofed')
  stop()
  t.equal(subscribers, 0)
  t.equal(await rules.checkClaim({ ip: 'x', agent_id: 'gptbot' }), undefined, 'no worker to ask')
})
