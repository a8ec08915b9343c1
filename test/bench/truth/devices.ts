import { createDeviceReader } from '../../../src/capture/device.js'
import { detectorFixtures } from '../../fixtures/detector-fixtures.js'
import { browsers } from '../../fixtures/recall.js'
import type { TruthFigure } from '../truth.js'

/** Kinds of the fixtures that a browser may have and that are not televisions. */
const OTHER_KINDS =
  /^(?:smartphone|tablet|phablet|desktop|feature_phone|camera|car_browser|portable_media_player|console)/

/** The type that a fixture's file stands for; a few names are of devices with screens of telephones or tablets. */
const TYPES: readonly (readonly [kinds: RegExp, type: string])[] = [
  [/^(?:smartphone|phablet|feature_phone|camera|portable_media_player)/, 'mobile'],
  [/^(?:tablet|smart_display)/, 'tablet'],
  [/^tv/, 'tv'],
  [/^desktop/, 'desktop'],
  [/^console/, 'console'],
  [/^car_browser/, 'embedded'],
]
/** Matches systems that browsers of the last ten years run on. */
const MODERN =
  /Android (?:[5-9]|1\d)|OS (?:[89]|1\d|2\d)_|Windows NT (?:6\.[1-9]|10)|Mac OS X 10[._](?:9|1\d)|CrOS|Tizen|Web0S|HbbTV|Tesla|Xbox|PlayStation/

/** Counts televisions that are `tv`, others that are too, and systems that have more than one name. */
export function measure(): TruthFigure[] {
  const read = createDeviceReader({ limit: 64 })
  const typeOf = (userAgent: string) => read(userAgent, undefined).device_type
  const fixtures = detectorFixtures()
  const televisions = fixtures.filter(({ kind }) => kind === 'tv').map(({ userAgent }) => userAgent)
  const others = fixtures.filter(({ kind }) => OTHER_KINDS.test(kind)).map(({ userAgent }) => userAgent)
  const consoles = fixtures
    .filter(({ kind, userAgent }) => kind === 'console' && /PlayStation|Xbox|Nintendo/i.test(userAgent))
    .map(({ userAgent }) => userAgent)
  const typed = fixtures.flatMap(({ kind, userAgent }) => {
    const [, type] = TYPES.find(([kinds]) => kinds.test(kind)) ?? []
    return type === undefined ? [] : [{ type, userAgent }]
  })
  const modern = typed.filter(({ userAgent }) => MODERN.test(userAgent))
  const wrongOf = (list: typeof typed) =>
    list
      .filter(({ type, userAgent }) => typeOf(userAgent) !== type)
      .map(({ type, userAgent }) => `${type}, not ${typeOf(userAgent)}: ${userAgent}`)
  const missed = televisions.filter((userAgent) => typeOf(userAgent) !== 'tv')
  const mistaken = others.filter((userAgent) => typeOf(userAgent) === 'tv')
  const noConsoles = consoles.filter((userAgent) => typeOf(userAgent) !== 'console')
  const names = new Set(
    [...fixtures.map(({ userAgent }) => userAgent), ...Object.values(browsers()).flat()].flatMap(
      (userAgent) => read(userAgent, undefined).os ?? [],
    ),
  )
  const twins = [...names].filter((name) =>
    [...names].some((one) => one < name && one.toLowerCase() === name.toLowerCase()),
  )
  return [
    {
      what: 'modern devices with their type',
      count: modern.length - wrongOf(modern).length,
      of: modern.length,
      aim: { atLeast: 0.97 },
      wrong: wrongOf(modern),
    },
    {
      what: 'all devices with their type',
      count: typed.length - wrongOf(typed).length,
      of: typed.length,
      wrong: [],
    },
    {
      what: 'televisions that are tv',
      count: televisions.length - missed.length,
      of: televisions.length,
      aim: { atLeast: 0.95 },
      wrong: missed,
    },
    {
      what: 'other devices that are tv',
      count: mistaken.length,
      of: others.length,
      aim: { atMost: 0.0005 },
      wrong: mistaken,
    },
    {
      what: 'PlayStation, Xbox and Nintendo that are console',
      count: consoles.length - noConsoles.length,
      of: consoles.length,
      aim: { atLeast: 0.95 },
      wrong: noConsoles,
    },
    { what: 'systems with a second spelling', count: twins.length, of: names.size, aim: { atMost: 0 }, wrong: twins },
  ]
}
