import t from 'tap'
import {
  type BrowserReport,
  propsText,
  readBrowserReport,
  screenClass,
} from '../../../src/worker/ingest/browser-report.js'
import { browserHit } from '../../fixtures/hits.js'

t.test('returns the class of a screen', async (t) => {
  const rows: [number | undefined, string | null][] = [
    [undefined, null],
    [0, null],
    [Number.NaN, null],
    [1, 'xs'],
    [575, 'xs'],
    [576, 'sm'],
    [767, 'sm'],
    [768, 'md'],
    [991, 'md'],
    [992, 'lg'],
    [1439, 'lg'],
    [1440, 'xl'],
    [7680, 'xl'],
  ]
  for (const [width, expected] of rows) t.equal(screenClass(width), expected, String(width))
})

t.test('returns properties as flat JSON', async (t) => {
  const rows: [Record<string, unknown> | undefined, string | null, string][] = [
    [undefined, null, 'none'],
    [{}, null, 'none'],
    [
      { plan: 'pro', n: 1.5, yes: true, no: false, zero: 0 },
      '{"plan":"pro","n":1.5,"yes":true,"no":false,"zero":0}',
      'plain',
    ],
    [
      { a: null, b: undefined, c: Number.NaN, d: Number.POSITIVE_INFINITY, e: 1n },
      null,
      'values that JSON lacks are dropped',
    ],
    [
      { fits: 2 ** 62, id: 2 ** 63, less: -1e19, most: 1e300 },
      '{"fits":4611686018427388000,"id":"9223372036854776000","less":"-10000000000000000000","most":"1e+300"}',
      'numbers that an engine cannot read become text',
    ],
    [{ a: [1, { b: 2 }], c: {} }, '{"a":"[1,{\\"b\\":2}]","c":"{}"}', 'nested values become JSON text'],
    [{ a: ['x'.repeat(500)], b: 1 }, '{"b":1}', 'long nested values are dropped, because truncated JSON is invalid'],
    [{ long: 'x'.repeat(600) }, `{"long":"${'x'.repeat(500)}"}`, 'cut'],
    [{ ['k'.repeat(300)]: 1 }, `{"${'k'.repeat(200)}":1}`, 'long keys are truncated'],
    [{ half: '\ud800', nul: '\0' }, '{"half":"\ufffd","nul":"\\u0000"}', 'half a surrogate pair is replaced'],
    [
      JSON.parse('{"__proto__":"x","constructor":"y"}'),
      '{"__proto__":"x","constructor":"y"}',
      'names that every object has',
    ],
  ]
  for (const [props, expected, why] of rows) t.equal(propsText(props), expected, why)
  const many = Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`k${i}`, i]))
  t.equal(Object.keys(JSON.parse(propsText(many) ?? '')).length, 50, 'at most 50 keys')
  let deep: unknown = 1
  for (let n = 0; n < 20_000; n++) deep = [deep]
  t.equal(propsText({ deep, a: 1 }), '{"a":1}', 'nested too deeply to be written')
})

t.test('reads the columns of a browser’s report', async (t) => {
  const rows: [Parameters<typeof browserHit>[0], Partial<BrowserReport>, string][] = [
    [{ screen_width: 400, viewport_width: 1200 }, { screen_class: 'xs' }, 'the screen'],
    [{ viewport_width: 1200 }, { screen_class: 'lg' }, 'else the viewport'],
    [{ language: 'de-at', headers: { 'accept-language': 'fr' } }, { language: 'de-AT' }, 'the language in the payload'],
    [
      { language: '<b>', headers: { 'accept-language': 'fr;q=1' } },
      { language: 'fr' },
      'else the language of the request',
    ],
    [{ timezone: 'America/Argentina/Buenos_Aires' }, { timezone: 'America/Argentina/Buenos_Aires' }, 'a zone'],
    [{ timezone: 'Etc/GMT+3' }, { timezone: 'Etc/GMT+3' }, 'another'],
    [{ timezone: 'x/../../etc' }, { timezone: null }, 'none'],
    [{ timezone: `A/${'b'.repeat(64)}` }, { timezone: null }, 'longer than any zone'],
    [{ engaged_ms: 90_000_000, scroll: 101 }, { engaged_ms: 86_400_000, scroll: 100 }, 'a day, the whole page'],
    [{ engaged_ms: -1, scroll: Number.NaN }, { engaged_ms: null, scroll: null }, 'not measurements'],
    [{ engaged_ms: 10.6, scroll: 0 }, { engaged_ms: 11, scroll: 0 }, 'whole numbers'],
    [{ identified_id: 'x'.repeat(600) }, { identified_id: 'x'.repeat(500) }, 'cut'],
    [{ identified_id: '' }, { identified_id: null }, 'an empty id'],
    [
      { kind: 'custom', name: 'signup', props: { a: 1 } },
      { event_name: 'signup', props: '{"a":1}', traits: null },
      'event',
    ],
    [{ kind: 'outbound', name: 'x' }, { event_name: null }, 'only custom events have names'],
    [
      { kind: 'engagement', identified_id: 'u', props: { plan: 'pro' } },
      { identified_id: 'u', traits: '{"plan":"pro"}', props: null },
      'traits',
    ],
    [
      { kind: 'engagement', props: { plan: 'pro' } },
      { traits: null, props: '{"plan":"pro"}' },
      'without an id there are no traits',
    ],
    [
      { kind: 'custom', identified_id: 'u', props: { a: 1 } },
      { traits: null, props: '{"a":1}' },
      'properties of an event',
    ],
    [
      { vitals: { lcp: 1200.5, cls: 0.1, inp: -1, fcp: 600_001, ttfb: Number.NaN } },
      { vitals: { lcp: 1200.5, cls: 0.1, inp: null, fcp: null, ttfb: null } },
      'each vital is checked alone',
    ],
    [{ vitals: { cls: 101 } }, { vitals: null }, 'not a plausible vital'],
    [{ kind: 'error', props: {} }, { error: null, props: null }, 'an error without content'],
    [{ kind: 'error', props: { message: 7, type: ' ' } }, { error: null }, 'an error with wrong types'],
  ]
  for (const [given, expected, why] of rows) t.match(readBrowserReport(browserHit(given)), expected, why)
  const error = (message: string) =>
    readBrowserReport(
      browserHit({
        kind: 'error',
        props: { type: 'TypeError', message, frame: 'at f (https://a.example/x.js:1:2)', plan: 1 },
      }),
    )
  t.match(error('x is 7'), {
    props: null,
    error: {
      type: 'TypeError',
      message: 'x is 7',
      frame: 'at f (https://a.example/x.js:1:2)',
      fingerprint: /^[0-9a-f]{16}$/,
    },
  })
  t.equal(error('x is 7').error?.fingerprint, error('x is 8').error?.fingerprint, 'the same error')
  t.equal(error('m'.repeat(900)).error?.message.length, 500)
})
