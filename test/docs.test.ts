import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { listFlags } from '../src/app/cli/command.js'
import { COMMANDS } from '../src/app/cli/program.js'
import { SETTINGS } from '../src/app/config.js'
import { docsLists, listOf, replaceList } from './fixtures/docs-lists.js'
import { DOCUMENTS } from './fixtures/documents.js'
import { readOpenApiDocument } from './fixtures/openapi-document.js'

const README = readFileSync('README.md', 'utf8')

t.test('the lists of commands, settings and endpoints are those of the code', async (t) => {
  for (const { file, section, items } of docsLists(await readOpenApiDocument()))
    t.same(listOf(readFileSync(file, 'utf8'), section), items, `${section}: else \`npm run docs\``)
  const text = 'a\n## One\n\nItems:\n\n- 1\n\nb\n\n## Two\n\n- 2\n'
  const long = 'word '.repeat(40).trim()
  const replaced = replaceList(text, { section: 'Two', items: [long, '5'] })
  t.same([listOf(replaced, 'One'), listOf(replaced, 'Two')], [['1'], [long, '5']])
  t.ok(replaced.split('\n').every((line) => line.length <= 120))
  t.equal(replaceList(text, { section: 'One', items: ['1'] }), text)
  t.equal(replaceList(text, { section: 'Two', items: ['2'] }), text)
})

t.test('the help of a command says which flags are required', async (t) => {
  const required = COMMANDS.flatMap((command) =>
    listFlags(command).flatMap(({ syntax, doc }) =>
      doc.endsWith(' (required)') ? `${command.name} ${syntax.split(' ')[0]}` : [],
    ),
  )
  t.same(required, [
    ...['evidence --agent', 'rules export --for', 'redirects export --for'],
    ...['keys create --name', 'sites create --name', 'sites create --domain', 'sites delete --yes'],
    ...['orgs create --name', 'users create --email', 'export --table'],
  ])
})

t.test('the list of variables has every default of the tests', async (t) => {
  const text = readFileSync('test/README.md', 'utf8').split('### More of the same')[1]?.split('\n## ')[0] ?? ''
  const rows = [...text.matchAll(/^- `([A-Z_]+)` \(`([\w/-]+)`, ([\d_]+); /gm)].map(([, ...cells]) => cells.join(' '))
  const files = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const found = files.flatMap((file) =>
    [...readFileSync(join('test', file), 'utf8').matchAll(/env\.([A-Z_]+) \?\? ([\d_]+)\)/g)].flatMap(
      ([, name, value]) => (name?.endsWith('_SEED') ? [] : `${name} ${file.replace(/(\.test)?\.ts$/, '')} ${value}`),
    ),
  )
  t.ok(found.length > 10)
  t.same(rows.sort(), found.sort())
})

t.test('what is written can be typed', async (t) => {
  const files = [
    'README.md',
    'src/app/cli/README.md',
    ...['versions', 'privacy', 'uninstall'].map((page) => `src/docs/${page}.md`),
    'src/docs/coming-from.md',
    'src/docs/operations.md',
    'examples/nginx-systemd/readership.service',
    'examples/servers/README.md',
    'examples/container/compose.yaml',
    'examples/fleet/README.md',
    'examples/container/README.md',
    'examples/fleet/compose.yaml',
    'examples/fleet/chart/templates/readership.yaml',
    'src/storage/migrate/README.md',
    'examples/demo.ts',
  ]
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n')
  const names = COMMANDS.map(({ name }) => name)
  for (const [, words = ''] of text.matchAll(
    /(?:npx readership|`readership|readership\.js) ([a-z][a-z-]*(?: [a-z][a-z-]*)?)/g,
  ))
    t.ok(
      names.some((name) => name === words || name === words.split(' ')[0]),
      `readership ${words}`,
    )
  const flags = new Set(
    [
      ...SETTINGS.map(({ flag = '' }) => flag),
      ...COMMANDS.flatMap((command) => listFlags(command).map(({ syntax }) => syntax)),
      '--config',
      '--help',
    ].map((form) => form.split(' ')[0]),
  )
  // Flags of npm, docker and systemctl.
  const foreign = new Set([
    '--no-audit',
    '--no-fund',
    '--no-save',
    '--omit',
    '--from',
    '--chown',
    '--interval',
    '--timeout',
    '--now',
  ])
  for (const [flag] of text.matchAll(/(?<![\w-])--[a-z][a-z-]*/g))
    if (!foreign.has(flag)) t.ok(flags.has(flag), `${flag} is a flag`)
  for (const [, name] of text.matchAll(/\bREADERSHIP_([A-Z_]+)\b/g))
    t.ok(
      name === 'CONFIG' || SETTINGS.some((setting) => setting.env === `READERSHIP_${name}`),
      `READERSHIP_${name} is a variable`,
    )
})

t.test('the files that a README names exist', async (t) => {
  for (const file of DOCUMENTS)
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/`((?:[\w-]+\/)*[\w.-]+(?:\.ts|\/))`/g)) {
      // A recipe's placeholder, and what is made when the program runs.
      if (/NAME|^\.+\/$/.test(path)) continue
      const places = [dirname(file), '.', 'src', 'test']
      t.ok(
        places.some((place) => existsSync(join(place, path))),
        `${file}: ${path}`,
      )
    }
})

t.test('the links between READMEs lead to files', async (t) => {
  for (const file of DOCUMENTS)
    for (const [, link = ''] of readFileSync(file, 'utf8').matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g))
      t.ok(existsSync(join(dirname(file), link)), `${file}: ${link}`)
})

t.test('what names a file of the repository by its address names one that exists', async (t) => {
  const address =
    /https:\/\/(?:github\.com|raw\.githubusercontent\.com)\/readership\/readership\/(?:blob\/)?main\/([\w./-]*\w)/g
  const files = [
    ...DOCUMENTS,
    'NOTICE',
    ...readdirSync('.github', { recursive: true, encoding: 'utf8' }).map((file) => join('.github', file)),
  ]
  for (const file of files.filter((file) => /NOTICE$|\.(md|yml)$/.test(file)))
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(address)) t.ok(existsSync(path), `${file}: ${path}`)
})

t.test('README.md works outside the repository: npm shows it too', async (t) => {
  const targets = [...README.matchAll(/\]\(([^)]*)\)/g)].map(([, target = '']) => target)
  t.ok(targets.length > 20, `${targets.length} links`)
  t.same(
    targets.filter((target) => !target.startsWith('https://')),
    [],
    'relative links',
  )
})

t.test('README.md is short, and its imports work', async (t) => {
  const bytes = Buffer.byteLength(README.replace(/\]\([^)]*\)/g, ']'))
  t.ok(bytes <= 7_500, `${bytes} bytes without the addresses of links, at most 7,500`)
  for (const file of DOCUMENTS)
    for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries())
      if (line.length > 300) t.fail(`${file}:${index + 1} has ${line.length} characters`)
  for (const [, specifier = ''] of README.matchAll(/from '(readership[\w/]*)'/g))
    await t.resolves(import(specifier), `${specifier} can be imported`)
})
