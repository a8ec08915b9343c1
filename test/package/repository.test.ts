import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'
import t from 'tap'
import { parse } from 'yaml'
import { z } from 'zod'
import { directory } from '../fixtures/files.js'
import { faultsOfText } from '../fixtures/prose.js'

/** Texts and workflows for the place where the repository is published: `.github`, and the pages in `src/docs`. */

const filesOf = (folder: string, ending: string) =>
  readdirSync(folder, { encoding: 'utf8' }).flatMap((name) => (name.endsWith(ending) ? [join(folder, name)] : []))
const read = (file: string) => readFileSync(file, 'utf8')
const PAGES = [...filesOf('.github', '.md'), ...(existsSync('src/docs') ? filesOf('src/docs', '.md') : [])]
const WORKFLOWS = filesOf('.github/workflows', '.yml')
const { version, scripts } = z
  .object({ version: z.string(), scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(read('package.json')))

/** GitHub's own parser. It is bundled here, because Node 20 does not load its import of JSON. */
async function loadParser(folder: string): Promise<typeof import('@actions/workflow-parser')> {
  const file = join(folder, 'parser.mjs')
  const bundle = await rolldown({ input: '@actions/workflow-parser', platform: 'node' })
  await bundle.write({ file, format: 'esm' })
  return import(pathToFileURL(file).href)
}

t.test('GitHub reads the workflows', async (t) => {
  const { parseWorkflow, NoOperationTraceWriter } = await loadParser(directory(t))
  const faults = (name: string, content: string) =>
    parseWorkflow({ name, content }, new NoOperationTraceWriter())
      .context.errors.getErrors()
      .map(({ message }) => message)
  t.same(
    WORKFLOWS.flatMap((file) => faults(file, read(file))),
    [],
  )
  t.match(faults('a.yml', 'on: push\njobs: { a: { runs-on: x, stps: [] } }'), [/Unexpected value 'stps'/])
})

const Permissions = z.record(z.string(), z.enum(['read', 'write']))
const Workflow = z.object({
  permissions: Permissions,
  jobs: z.record(
    z.string(),
    z.object({
      permissions: Permissions.optional(),
      environment: z.string().optional(),
      needs: z.string().optional(),
      steps: z.array(z.object({ uses: z.string().optional(), run: z.string().optional() })),
    }),
  ),
})

t.test('workflows have few permissions, fixed actions and scripts that exist', async (t) => {
  for (const file of WORKFLOWS) {
    const { permissions, jobs } = Workflow.parse(parse(read(file)))
    t.same(permissions, { contents: 'read' }, file)
    for (const [name, job] of Object.entries(jobs)) {
      const runs = job.steps.flatMap(({ run }) => run ?? []).join('\n')
      const publishes = runs.includes('npm publish')
      t.same(job.permissions, publishes ? { contents: 'read', 'id-token': 'write' } : undefined, `${file}: ${name}`)
      if (publishes) t.match(job, { environment: 'npm', needs: 'pack' }, 'a maintainer approves what is published')
      for (const { uses } of job.steps) if (uses) t.match(uses, /^actions\/[a-z-]+@v\d+\.\d+\.\d+$/, uses)
      for (const [, script = ''] of runs.matchAll(/npm run (?:--silent )?([\w:-]+)/g)) t.ok(scripts[script], script)
      for (const [, path = ''] of runs.matchAll(/^bash (\S+)/gm)) t.ok(existsSync(path), path)
    }
  }
})

const Text = z.string().min(1)
const Field = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('markdown'), attributes: z.strictObject({ value: Text }) }),
  z.strictObject({
    type: z.enum(['input', 'textarea', 'dropdown']),
    id: z.string().regex(/^[\w-]+$/),
    attributes: z.strictObject({
      label: Text,
      description: Text.optional(),
      placeholder: Text.optional(),
      render: Text.optional(),
      options: z.array(Text).min(2).optional(),
    }),
    validations: z.strictObject({ required: z.boolean() }).optional(),
  }),
])
const Form = z.strictObject({ name: Text, description: Text, labels: z.array(Text), body: z.array(Field).min(1) })
const Config = z.strictObject({
  blank_issues_enabled: z.boolean(),
  contact_links: z.array(z.strictObject({ name: Text, url: z.url(), about: Text })),
})

t.test('issue forms have the fields that GitHub knows', async (t) => {
  for (const file of filesOf('.github/ISSUE_TEMPLATE', '.yml')) {
    const { error, data } = (file.endsWith('config.yml') ? Config : Form).safeParse(parse(read(file)))
    t.equal(error, undefined, file)
    const ids = data && 'body' in data ? data.body.flatMap((field) => ('id' in field ? [field.id] : [])) : []
    t.same(ids, [...new Set(ids)], `${file}: each id once`)
  }
})

t.test('the newest release of the changelog is the version of the package', async (t) => {
  const text = read('.github/CHANGELOG.md')
  const releases = [...text.matchAll(/^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$/gm)].map(([, release]) => release)
  // Until the version is set, the first entry is the release that is being prepared.
  t.equal(version.startsWith('0.') ? '1.0.0' : version, releases[0])
  for (const name of [...releases, 'Unreleased'])
    t.match(text, `\n[${name}]: https://github.com/readership/readership/`, `${name} has its link`)
})

/** GitHub's name of a heading in addresses. */
const anchorOf = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
const anchorsOf = (file: string) => [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))

t.test('links of the pages lead to files and headings', async (t) => {
  for (const page of PAGES)
    for (const [, link = '', anchor] of read(page).matchAll(/\]\(([^)#:]*)(?:#([^)]*))?\)/g)) {
      const file = link === '' ? page : join(dirname(page), link)
      if (!existsSync(file)) t.fail(`${page}: ${link}`)
      else if (anchor !== undefined && file.endsWith('.md'))
        t.ok(anchorsOf(file).includes(anchor), `${page}: ${link}#${anchor}`)
    }
})

t.test('the pages follow the style card', async (t) => {
  const prose = (file: string) => read(file).replace(/^```[\s\S]*?^```/gm, (code) => code.replace(/[^\n]/g, ' '))
  t.same(
    PAGES.flatMap((file) => faultsOfText(file, { kind: 'string', line: 1, text: prose(file) })),
    [],
  )
})
