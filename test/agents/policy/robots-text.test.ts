import t from 'tap'
import { type Agent, loadCatalog } from '../../../src/agents/catalog.js'
import { parseRobots } from '../../../src/agents/policy/parse-robots.js'
import { createPolicy } from '../../../src/agents/policy/policy.js'
import { listDifferingLines } from '../../../src/agents/policy/rehearsal/differing-lines.js'
import { createPresets } from '../../../src/agents/policy/rehearsal/presets.js'

const catalog = loadCatalog()
const firstWord = (name = '') => name.toLowerCase().split(' ')[0]
const MAPS = ['https://a.example/s.xml', 'https://a.example/t.xml']
const LICENCE = 'https://a.example/licence.xml'
const PRESENT = `User-agent: *\nDisallow: /x\nSitemap: ${MAPS[0]}\nLicense: ${LICENCE}\n\nSitemap: ${MAPS[1]}\n`

t.test('each preset says to every agent of the catalogue what its name promises', async (t) => {
  const presets = createPresets(catalog, PRESENT)
  /** Whether an agent of a purpose may read, by preset; undefined: as agents that the text does not name. */
  const rows: [name: string, may: (purpose: Agent['purpose']) => boolean, others: boolean, trains: boolean][] = [
    ['search_not_training', (purpose) => purpose !== 'training', true, false],
    ['assistants_only', (purpose) => purpose === 'assistant', false, false],
    ['nothing', () => false, false, false],
    ['everything', () => true, true, true],
  ]
  for (const [name, may, others, trains] of rows) {
    const text = presets.find((preset) => preset.name === name)?.text ?? ''
    const parsed = parseRobots(text)
    t.strictSame(parsed.problems, [], `${name} has no faults`)
    t.strictSame(parsed.sitemaps, MAPS, 'the sitemaps are kept')
    t.strictSame(
      parsed.licenses.map(({ url }) => url),
      trains ? [] : [LICENCE],
      'the licence is kept where training is refused',
    )
    t.match(text, catalog.version.slice(0, 10), 'the date of the catalogue')
    const policy = createPolicy({ hostname: 'a.example', robots: { status: 200, body: text } })
    t.equal(policy.allows(undefined, '/x').allowed, others, 'agents that no catalogue has')
    for (const agent of catalog.agents.filter(({ robots_tokens = [] }) => robots_tokens.length > 0)) {
      const { allowed } = policy.allows(agent, '/x')
      // Agents of one name cannot be told apart, and `Brightbot 1.0` names Brightbot: the one that may read decides.
      const shares = catalog.agents.some(
        (other) => may(other.purpose) && firstWord(other.robots_tokens?.[0]) === firstWord(agent.robots_tokens?.[0]),
      )
      if (allowed !== (may(agent.purpose) || shares))
        t.fail(`${name}: ${agent.id} is ${allowed ? 'allowed' : 'refused'}`)
    }
    const signals = parsed.groups.map(({ content_signals }) => content_signals?.['ai-train'])
    t.ok(
      signals.every((signal) => signal === (trains ? 'yes' : 'no')),
      'the preferences stand in each group',
    )
  }
})

t.test('lines that parsers read differently', async (t) => {
  const rows: [line: string, kind: string | undefined, detail: string | undefined, why: string][] = [
    ['', undefined, undefined, 'an empty line'],
    ['# User agent: *', undefined, undefined, 'a comment'],
    ['User-agent: *', undefined, undefined, 'all agents'],
    ['Disallow: /a/', undefined, undefined, 'a prefix'],
    ['Disallow: /a*', undefined, undefined, 'a star at the end is a prefix'],
    ['Disallow: /*.mp3$', 'pattern', undefined, 'the draft of 1994 has no patterns'],
    ['Allow: /a$', 'pattern', undefined, 'an end'],
    ['Crawl-delay: 2', 'crawl_delay', undefined, 'not of RFC 9309'],
    ['Content-Signal: search=yes', 'preferences', undefined, 'preferences'],
    ['Content-Usage: train-ai=n', 'preferences', undefined, 'preferences'],
    [`License: ${LICENCE}`, 'licence', undefined, 'RSL'],
    ['Dissallow: /a', 'misspelt', 'Disallow', 'Google reads it'],
    ['Disallow-all: /a', 'misspelt', 'disallow', 'Google reads any key that begins so'],
    ['Disallow /a', 'no_record', undefined, 'no colon'],
    ['Host: a.example', 'unknown_key', undefined, 'a record that is in no standard'],
    ['User-agent: Google-Extended', 'token_only', 'Google-Extended', 'a name without a crawler'],
    ['User-agent: GPTBot', undefined, undefined, 'a product token'],
    ['User-agent: MJ12bot', 'agent_name', 'mj', 'Google reads letters, - and _ only'],
    [`Disallow: /${'x'.repeat(17_000)}`, 'long_line', undefined, 'longer than Google reads'],
    ['Disallow: /a\0b', 'long_line', undefined, 'Google ends the line at NUL'],
  ]
  for (const [line, kind, detail, why] of rows) {
    const [first, ...more] = listDifferingLines(`\n${line}\n`, catalog)
    t.match({ line: first?.line, kind: first?.kind, detail: first?.detail }, { line: kind && 2, kind, detail }, why)
    t.strictSame(more, [])
  }
  t.match(listDifferingLines('\ufeffUser-agent: *', catalog), [{ line: 1, kind: 'byte_order_mark' }])
  t.match(listDifferingLines('x\n'.repeat(300_000), catalog)[0], { kind: 'too_long' })
  t.equal(listDifferingLines('x\n'.repeat(300_000), catalog).length, 200, 'the first 200')
})
