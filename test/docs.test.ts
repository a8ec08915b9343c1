import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { z } from 'zod'
import { listFlags, listSettings } from '../src/app/cli/command.js'
import { COMMANDS } from '../src/app/cli/program.js'
import { loadConfig, SETTINGS } from '../src/app/config.js'
import { openInstance } from '../src/app/instance/open-instance.js'

const README = readFileSync('README.md', 'utf8')
const CLI_README = readFileSync('src/app/cli/README.md', 'utf8')
const section = (title: string, text: string): string => text.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? ''
/** The cells of a section's table, without its head; the formatter's padding is not a difference. */
const table = (title: string, text = README): string[][] =>
  section(title, text)
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim().replaceAll('\\|', '|')),
    )

t.test('the table of commands is the program’s', async (t) => {
  const expected = COMMANDS.map(({ name, arguments: words = [], summary }) => [
    `\`${[name, ...words.map(({ syntax }) => syntax)].join(' ')}\``,
    summary,
  ])
  t.same(table('Commands', CLI_README), expected)
})

t.test('the table of settings is the configuration’s, and says which commands take each', async (t) => {
  const shown = (value: unknown) => (Array.isArray(value) ? value.join(', ') : String(value ?? ''))
  const takers = (name: (typeof SETTINGS)[number]['name']) => {
    const names = COMMANDS.filter((command) => listSettings(command).includes(name)).map((command) => command.name)
    return names.length === COMMANDS.length ? 'every command' : names.join(', ')
  }
  const expected = SETTINGS.map((setting) => [
    `\`${setting.flag ?? setting.name}\``,
    shown(setting.default),
    setting.doc,
    takers(setting.name),
  ])
  t.same(table('Settings', CLI_README), expected)
})

t.test('the help of a command says which flags are required', async (t) => {
  const required = COMMANDS.flatMap((command) =>
    listFlags(command).flatMap(({ syntax, doc }) =>
      doc.endsWith(' (required)') ? `${command.name} ${syntax.split(' ')[0]}` : [],
    ),
  )
  t.same(required, [
    ...['keys create --name', 'sites create --name', 'sites create --domain', 'sites delete --yes'],
    ...['orgs create --name', 'users create --email', 'export --table'],
  ])
})

t.test('the table of variables has every default of the tests', async (t) => {
  const text = readFileSync('test/README.md', 'utf8').split('### More of the same')[1]?.split('\n## ')[0] ?? ''
  const rows = [...text.matchAll(/^\| `([A-Z_]+)` +\| `([\w/-]+)` +\| (\S+) /gm)].map(([, ...cells]) => cells.join(' '))
  const files = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const found = files.flatMap((file) =>
    [...readFileSync(join('test', file), 'utf8').matchAll(/env\.([A-Z_]+) \?\? ([\d_]+)\)/g)].flatMap(
      ([, name, value]) => (name?.endsWith('_SEED') ? [] : `${name} ${file.replace(/(\.test)?\.ts$/, '')} ${value}`),
    ),
  )
  t.ok(found.length > 10)
  t.same(rows.sort(), found.sort())
})

/** Words of the table for what the document says is needed. */
const NEEDED = {
  public: /^Open to anyone\./,
  signed: /signature/,
  person: /^Requires a signed-in person/,
  viewer: /^Requires a signed-in member/,
  admin: /^Requires a signed-in admin/,
  owner: /^Requires a signed-in owner/,
}

t.test('the table of endpoints is what the service says of itself', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'docs-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const config = loadConfig({ flags: { data: folder, offline: true }, env: {}, read: () => undefined })
  const log = { info() {}, warn() {}, error() {} }
  const instance = await openInstance(config, { log })
  const answer = await instance.fetch(new Request('http://localhost/api/openapi.json'), { ip: '127.0.0.1' })
  const operation = z.object({ summary: z.string(), description: z.string() })
  const document = z
    .object({ paths: z.record(z.string(), z.record(z.enum(['get', 'post', 'delete']).or(z.string()), operation)) })
    .parse(await answer.json())
  await instance.close()
  const expected = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { description }]) => {
      const scope = /^Requires the scope (\S+)\./.exec(description)?.[1]
      const other = Object.entries(NEEDED).find(([, pattern]) => pattern.test(description))?.[0]
      return [method.toUpperCase(), path, scope ?? other].join(' ')
    }),
  )
  // `GET` where a row names no method; else the methods named last before a word in backticks are its.
  const endpoints = readFileSync('src/api/README.md', 'utf8')
  const written = table('Endpoints', endpoints).flatMap(([under = '', scope = '', words = '']) => {
    let methods = ['GET']
    return [...words.matchAll(/((?:GET|POST|PATCH|DELETE)(?: and (?:GET|POST|PATCH|DELETE))*)|`([^`]+)`/g)].flatMap(
      ([, named, word]) => {
        if (named) methods = named.split(' and ')
        return word ? methods.map((method) => `${method} ${under.replaceAll('`', '')}${word} ${scope}`) : []
      },
    )
  })
  t.same(written.sort(), expected.sort())
})

t.test('what is written can be typed', async (t) => {
  const files = [
    'README.md',
    'src/app/cli/README.md',
    'examples/nginx-systemd/readership.service',
    'examples/nginx-systemd/nginx.conf',
    'examples/container/Dockerfile',
    'examples/container/compose.yaml',
    'examples/fleet/README.md',
    'examples/fleet/Dockerfile',
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

/** Every README of the repository. */
const READMES = [
  'README.md',
  ...['src', 'test', 'examples'].flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('README.md'))
      .map((file) => join(root, file)),
  ),
]

t.test('the files that a README names exist', async (t) => {
  for (const file of READMES)
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
  for (const file of READMES)
    for (const [, link = ''] of readFileSync(file, 'utf8').matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g))
      t.ok(existsSync(join(dirname(file), link)), `${file}: ${link}`)
})

t.test('README.md is short, and its imports work', async (t) => {
  t.ok(Buffer.byteLength(README) <= 12_000, `${Buffer.byteLength(README)} bytes, at most 12,000`)
  for (const file of READMES)
    for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries())
      if (line.length > 300) t.fail(`${file}:${index + 1} has ${line.length} characters`)
  for (const [, specifier = ''] of README.matchAll(/from '(readership[\w/]*)'/g))
    await t.resolves(import(specifier), `${specifier} can be imported`)
})
