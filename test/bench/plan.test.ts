import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { directory } from '../fixtures/files.js'
import { surveySource } from '../fixtures/source-survey.js'
import { countFloors, measurePlan } from './plan.js'

const PLANS: readonly [arrows: Record<string, readonly string[]>, floors: number, why: string][] = [
  [{}, 0, 'nothing'],
  [{ a: [] }, 1, 'one box'],
  [{ a: ['b'], b: ['c'], c: [] }, 3, 'a chain'],
  [{ a: ['b', 'c'], b: ['c'], c: [], d: ['c'] }, 3, 'the longest of several chains'],
  [{ a: ['b'], b: ['a', 'c'], c: [] }, 2, 'a circle is one floor'],
]

t.test('floors are the boxes of the longest chain of arrows', (t) => {
  for (const [arrows, floors, why] of PLANS)
    t.equal(countFloors(new Map(Object.entries(arrows).map(([box, targets]) => [box, new Set(targets)]))), floors, why)
  t.end()
})

t.test('boxes are the folders and files right below src, and imports of types are arrows', (t) => {
  const checkout = directory(t)
  const files = {
    'src/index.ts': "export { a } from './low/deep/a.js'\n",
    'src/low/deep/a.ts': 'export const a = 1\n',
    'src/high/b.ts':
      "import type { C } from '../other/c.js'\nimport { a } from '../low/deep/a.js'\nexport const b: C = a\n",
    'src/other/c.ts': "import type { b } from '../high/b.js'\nexport type C = number\nexport type B = typeof b\n",
    'bin/program.ts': "import '../src/index.js'\n",
    'test/d.ts': "import '../src/high/b.js'\n",
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(checkout, path)), { recursive: true })
    writeFileSync(join(checkout, path), text)
  }
  t.same(measurePlan(surveySource(checkout)), {
    boxes: 5,
    // index and high to low; high and other to each other; bin to index.
    arrows: 5,
    // bin, index, low; the circle stands beside index.
    floors: 3,
    circles: [['src/high', 'src/other']],
  })
  t.end()
})
