import { createHmac } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { z } from 'zod'
import { RuleSet } from '../../../src/rules/rule-set.js'
import { cli, dataDir, eventually, GPTBOT, startInstance, startOrigin } from '../../fixtures/instance.js'

/** Tests the way of a rule from the command line to the site, over restarts and with a torn file. */

const RULE = { name: 'No GPTBot', agents: ['gptbot'], paths: ['/docs/**'], action: 'block', state: 'on' }

t.test('rules outlive restarts, and a torn file is ignored', { timeout: 300_000 }, async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const data = dataDir(t)
  const file = join(data, 'rules.json')
  const rules = join(data, 'new-rules.json')
  let instance = await startInstance(origin.url, data)
  t.teardown(() => instance.stop())
  const status = async (path = '/docs/a') =>
    (await fetch(`${instance.site}${path}`, { headers: { 'user-agent': GPTBOT } })).status
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli(...args, '--data', data)
    t.equal(code, 0, `${args.join(' ')}: ${stderr}`)
    return stdout
  }
  const restart = async (...args: string[]) => {
    await instance.stop()
    instance = await startInstance(origin.url, data, ...args)
  }
  t.equal(await status(), 200)
  t.notOk(existsSync(file), 'without a rule there is no file')

  writeFileSync(rules, JSON.stringify([RULE, { ...RULE, name: 'All', agents: ['bytespider'], state: 'off' }]))
  await run('rules', 'add', rules)
  t.equal(await status(), 403, 'at once')
  t.equal(await status('/blog'), 200)
  const set = RuleSet.parse(JSON.parse(readFileSync(file, 'utf8')))
  t.match(set.sites, [{ site: 1, rules: [{ id: 1, name: 'No GPTBot' }] }])
  t.equal(set.sites[0]?.rules.length, 1, 'a rule that is off is not in the set')

  writeFileSync(rules, JSON.stringify([{ ...RULE, name: 'New' }, RULE]))
  const refused = await cli('rules', 'add', rules, '--data', data)
  t.match(refused, { code: 1, stderr: /Rule 2 of 2, so none was added: The site already has a rule with this name/ })
  t.notMatch(await run('rules', 'list'), /New/, 'the first one of the file is gone again')

  await run('redirects', 'add', '/old', '/new', '--status', '302')
  t.match(await run('redirects', 'list'), /1 +302 +\/old +\/new/)
  t.match(await run('redirects', 'export', '--for', 'nginx'), /\/old/)
  await run('redirects', 'remove', '1')
  t.notMatch(await run('redirects', 'list'), /old/)

  await run('rules', 'pause')
  t.equal(await status(), 200, 'paused')
  const listed = await cli('rules', 'list', '--data', data)
  t.match(listed.stdout, /1 +1 +on +block +No GPTBot +gptbot; \/docs\/\*\*\n/)
  t.ok(listed.stderr.endsWith(`To resume: readership rules resume --site 1 --data ${data}\n`), listed.stderr)
  await run('rules', 'resume')
  t.equal(await status(), 403, 'resumed')
  await run('rules', 'state', '1', 'rehearse')
  t.equal(await status(), 200, 'in rehearsal')
  await run('rules', 'state', '1', 'on')
  await run('rules', 'move', '1', '2')
  t.match(await run('rules', 'list'), /1 +2 +off.*\n.*2 +1 +on/)

  await restart()
  t.equal(await status(), 403, 'after a restart')
  await restart('--rules', 'off')
  t.equal(await status(), 200, 'the setting switches rules off')
  writeFileSync(file, readFileSync(file, 'utf8').slice(0, 40))
  await restart()
  await eventually('the rules of the records', async () => (await status()) === 403)
  t.match(RuleSet.parse(JSON.parse(readFileSync(file, 'utf8'))), { version: set.version, sites: set.sites })

  const key = (await run('sites', 'ingest-key', '1')).trim()
  const ask = (headers: Record<string, string> = {}, at = Math.floor(Date.now() / 1_000), signed = key) =>
    fetch(`${instance.admin}/api/edge/rules?site=1`, {
      headers: {
        'x-service-signature': `t=${at},v1=${createHmac('sha256', signed).update(`${at}.`).digest('hex')}`,
        ...headers,
      },
    })
  const answer = await ask({ 'x-readership-front': 'edge 1', 'x-readership-rules': 'old' })
  const sent = z.object({ data: RuleSet }).parse(await answer.json()).data
  t.same(sent.sites, set.sites, 'a sidecar gets the rules of its site')
  const etag = answer.headers.get('etag') ?? ''
  t.equal(etag, `"${sent.version}"`)
  t.equal((await ask({ 'if-none-match': etag })).status, 304)
  t.equal((await ask({}, 1)).status, 401, 'an old signature')
  t.equal((await ask({}, undefined, 'svci_wrong')).status, 401, 'a wrong key')

  const stored = await run('rules', 'list', '--json')
  writeFileSync(rules, stored)
  for (const id of ['1', '2']) await run('rules', 'remove', id)
  await run('rules', 'add', rules)
  const own = z.array(z.object({ id: z.unknown(), version: z.unknown(), changed_at: z.unknown() }).loose())
  const fields = (text: string) => own.parse(JSON.parse(text)).map(({ id, version, changed_at, ...rule }) => rule)
  t.same(fields(await run('rules', 'list', '--json')), fields(stored), 'a list that was printed can be added again')
  for (const { id } of own.parse(JSON.parse(await run('rules', 'list', '--json'))))
    await run('rules', 'remove', `${id}`)
  t.equal(await status(), 200, 'deleted')
})
