import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { z } from 'zod'
import { listFlags } from '../../../src/app/cli/command.js'
import { formatManPage } from '../../../src/app/cli/man-page.js'
import { COMMANDS } from '../../../src/app/cli/program.js'
import { SETTINGS } from '../../../src/app/config.js'

const PAGE = 'dist/readership.1'
const { version, man, files } = z
  .object({ version: z.string(), man: z.string(), files: z.array(z.string()) })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')))

t.test('the build writes the page of these commands, and the package has it', async (t) => {
  t.equal(readFileSync(PAGE, 'utf8'), formatManPage(version))
  t.equal(man, `./${PAGE}`)
  t.ok(files.includes(PAGE))
})

const isThere = (program: string) => spawnSync(program, ['--version']).error === undefined

t.test('groff shows every command, flag and setting', { skip: !isThere('groff') && 'no groff' }, async (t) => {
  const { stdout, stderr } = spawnSync('groff', ['-man', '-ww', '-Tutf8', '-P-cbou', PAGE], { encoding: 'utf8' })
  t.equal(stderr, '', 'without a warning')
  t.same(
    stdout.split('\n').filter((line) => line.length > 80),
    [],
    'in 80 columns',
  )
  const words = stdout.replace(/\s+/g, ' ')
  const includes = (text: string) => t.ok(words.includes(text.replace(/\s+/g, ' ')), text)
  for (const command of COMMANDS) {
    includes(command.name)
    for (const { syntax, doc } of listFlags(command)) includes(`${syntax} ${doc}`)
  }
  for (const { flag, doc, env } of SETTINGS) {
    includes(`${flag ?? '[origin-url]'} ${doc}`)
    includes(`variable ${env}`)
  }
})

t.test('mandoc finds no fault', { skip: !isThere('mandoc') && 'no mandoc' }, async (t) => {
  const { stdout } = spawnSync('mandoc', ['-Tlint', PAGE], { encoding: 'utf8' })
  // The page has no date, so that two builds of a release are equal.
  t.match(stdout, /^(mandoc: \S+ WARNING: missing date, using "": TH\n)?$/)
})

t.test('man shows it', { skip: !isThere('man') && 'no man' }, async (t) => {
  t.match(
    execFileSync('man', ['-l', PAGE], { encoding: 'utf8' }),
    /^READERSHIP\(1\)[\s\S]*\nNAME\n +readership - web analytics/,
  )
})
