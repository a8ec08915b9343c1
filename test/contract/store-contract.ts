import type { Test } from 'tap'
import { ApiError } from '../../src/base/errors.js'
import { foldCase, raw, type Sql, sql } from '../../src/storage/sql.js'
import type { Store } from '../../src/storage/store.js'
import { agentRow, eventRow } from '../fixtures/rows.js'

/** A decimal numeral is a number, with spaces around it or without; no other text is. */
const NUMBERS: readonly (readonly [string | null, number | null])[] = [
  ...([
    ['5', 5],
    [' 5 ', 5],
    ['+5', 5],
    ['-0.5', -0.5],
    ['.5', 0.5],
    ['5.', 5],
    ['007', 7],
  ] as const),
  ...([
    ['1e3', 1000],
    ['1.5E+2', 150],
    ['-1e-7', -1e-7],
    ['1e99', 1e99],
    ['0.1', 0.1],
    ['4.35', 4.35],
  ] as const),
  ...([
    ['0.30000000000000004', 0.30000000000000004],
    ['9007199254740993', 9007199254740992],
  ] as const),
  ...([
    ['123456789.123456789', 123456789.12345679],
    ['18446744073709551616', 2 ** 64],
  ] as const),
  ...([
    ['1_000', null],
    ['1,5', null],
    ['1 5', null],
    ['0x10', null],
    ['1e400', null],
    ['1e100', null],
  ] as const),
  ...([
    ['nan', null],
    ['inf', null],
    ['Infinity', null],
    ['', null],
    [' ', null],
    ['-', null],
    ['.', null],
  ] as const),
  ...([
    ['e5', null],
    ['5e', null],
    ['--5', null],
    ['5\n', null],
    ['\t5', null],
    ['٣', null],
    ['true', null],
  ] as const),
  [null, null],
]
/** Half of the last digit rounds away from zero. */
const DECIMALS: readonly (readonly [string | null, number | null])[] = [
  ...([
    ['1.23456', 1.2346],
    ['1.23445', 1.2345],
    ['-1.23445', -1.2345],
    ['-1.23455', -1.2346],
  ] as const),
  ...([
    ['0.00005', 0.0001],
    ['0.00004999999999999999999999', 0],
    ['1e3', 1000],
    ['1.5E2', 150],
    ['-0', 0],
  ] as const),
  ...([
    ['9999999999.9999', 9999999999.9999],
    ['99999999999999.99995', null],
  ] as const),
  ...([
    ['100000000000000', null],
    ['-100000000000000', null],
    ['1e30', null],
    ['1e400', null],
    ['1e-30', 0],
  ] as const),
  ...([
    ['123456789012345678901234567890123456789012345', null],
    ['x', null],
    ['', null],
    [null, null],
  ] as const),
]
const LOWER: readonly (readonly [string, string])[] = [
  ...([
    ['ABC', 'abc'],
    ['ÄÖÜ', 'äöü'],
    ['İstanbul', 'istanbul'],
    ['IĞDIR', 'iğdir'],
    ['ΟΔΟΣ', 'οδοσ'],
  ] as const),
  ...([
    ['οδός', 'οδόσ'],
    ['ẞ', 'ß'],
    ['Straße', 'straße'],
    ['Ǆ', 'ǆ'],
    ['\u212a', 'k'],
    ['\u2126', 'ω'],
  ] as const),
  ...([
    ['𐐀', '𐐨'],
    ['ЖУРНАЛ', 'журнал'],
    ['', ''],
    ['a\u0000B', 'a\u0000b'],
    ['日本', '日本'],
  ] as const),
]
/** Values of properties and their texts. `JSON.stringify` writes 1.0 as 1 and 1e3 as 1000, and stores write nothing else. */
const JSON_VALUES: readonly (readonly [unknown, string | null])[] = [
  ...([
    [1.0, '1'],
    [1e3, '1000'],
    [1.5, '1.5'],
    [-0, '0'],
    [0.1, '0.1'],
    [0.000001, '0.000001'],
  ] as const),
  ...([
    [1e-7, '1e-7'],
    [1e21, '1e21'],
    [5e-324, '5e-324'],
    [2 ** 53, '9007199254740992'],
  ] as const),
  ...([
    [2 ** 63, '9223372036854776000'],
    [-(2 ** 53), '-9007199254740992'],
    [1.7e308, '1.7e308'],
  ] as const),
  ...([
    [true, 'true'],
    [false, 'false'],
    [null, null],
    ['', ''],
    ['1.0', '1.0'],
    [' x ', ' x '],
  ] as const),
  ...([
    ['"quoted"', '"quoted"'],
    ['a\u0000b\n\t\\', 'a\u0000b\n\t\\'],
    ['😀é', '😀é'],
    ['{"a":1}', '{"a":1}'],
  ] as const),
  ...([
    [[1, 2], '[1,2]'],
    [{ b: [1] }, '{"b":[1]}'],
  ] as const),
]

/** Tests that every store must pass, whatever its engine. `open` returns a new and empty store. */
export function storeContract(t: Test, open: (t: Test) => Promise<Store>): void {
  t.test('every value is returned as it was stored', async (t) => {
    const store = await open(t)
    const events: [string, Parameters<typeof eventRow>[0], Record<string, unknown>][] = [
      ['empty', {}, { utm_term: null, scroll: null }],
      ['the highest id', { visitor_id: 0xffffffffffffffffn }, { visitor_id: 'ffffffffffffffff' }],
      ['the lowest id', { visitor_id: 0n }, { visitor_id: '0000000000000000' }],
      ['milliseconds', { timestamp: new Date('2026-03-29T01:00:00.001Z') }, { timestamp: new Date(1774746000001) }],
      ['before 1970', { timestamp: new Date(-1) }, { timestamp: new Date(-1) }],
      ['numbers', { asn: 4294967295, engaged_ms: 2147483647 }, { asn: 4294967295, engaged_ms: 2147483647 }],
      ['a fraction is rounded', { duration_ms: 12.5 }, { duration_ms: 13 }],
      ['a number past the column is held at its end', { duration_ms: 1e12 }, { duration_ms: 2147483647 }],
      ['quotes', { pathname: `/'"\`;--` }, { pathname: `/'"\`;--` }],
      ['NUL and controls', { pathname: '/\u0000\u001b[2J\r\n' }, { pathname: '/\u0000\u001b[2J\r\n' }],
      ['astral and right to left', { pathname: '/😀\u202e' }, { pathname: '/😀\u202e' }],
      ['half a pair becomes U+FFFD', { pathname: '/\ud83d' }, { pathname: '/\ufffd' }],
      ['the empty string is not null', { utm_term: '' }, { utm_term: '' }],
      [
        'vitals, measured or not',
        { vitals: { lcp: 1234.5, cls: 0.02, inp: null, fcp: null, ttfb: 0 } },
        { lcp: 1234.5, cls: 0.02, inp: null, fcp: null, ttfb: 0 },
      ],
      [
        'an error',
        { error: { type: 'TypeError', message: "it's\n", frame: null, fingerprint: 'f' } },
        { error: '{"type":"TypeError","message":"it\'s\\n","frame":null,"fingerprint":"f"}', lcp: null },
      ],
      ['100,000 characters', { referrer: 'x'.repeat(100_000) }, { referrer: 'x'.repeat(100_000) }],
    ]
    for (const [index, [, given]] of events.entries()) {
      await store.append({ events: [eventRow({ ...given, site_id: index })], agent_events: [] })
    }
    for (const [index, [why, , expected]] of events.entries()) {
      const [row] = await store.query(sql`select * from events where site_id = ${index}`)
      for (const [column, value] of Object.entries(expected)) t.strictSame(row?.[column], value, `${why}: ${column}`)
    }
    const imported = { import_id: 7, import_key: 2n ** 64n - 2n }
    const proven = { proof: "https://keys.example/ü'\\", proof_at: new Date('2026-03-29T01:00:00.001Z') }
    const rows = [agentRow({ verified: false, bytes: 2 ** 53 - 1, ...imported }), agentRow({ bytes: 1, ...proven })]
    await store.append({ events: [], agent_events: rows })
    const [agent, verified] = await store.query(
      sql`select verified, bytes, is_pageview, ip_hash, robots_allowed, import_id, import_key, proof, proof_at
        from agent_events order by bytes desc`,
    )
    t.match(verified, proven, 'the list that verified a fetch, and the age of its copy')
    t.strictSame(agent, {
      verified: false,
      bytes: 9007199254740991,
      is_pageview: true,
      ip_hash: '0000000000000003',
      robots_allowed: null,
      import_id: 7,
      import_key: 'fffffffffffffffe',
      ...{ proof: null, proof_at: null },
    })
  })

  t.test('counts and sums are numbers, parameters keep their type', async (t) => {
    const store = await open(t)
    const agent_events = [1, 2, 3].map((n) => agentRow({ bytes: n, pathname: `/${n}` }))
    await store.append({ events: [eventRow({ visitor_id: 0xfedcba9876543210n })], agent_events })
    const [row] = await store.query(sql`select count(*) as n, sum(bytes) as bytes, avg(bytes) as mean,
      max(timestamp) as latest, sum(asn) as nothing from agent_events`)
    t.strictSame(row, { n: 3, bytes: 6, mean: 2, latest: new Date('2026-11-21T08:00:00Z'), nothing: null })
    const cases: [ReturnType<typeof sql>, number, string][] = [
      [sql`visitor_id = ${0xfedcba9876543210n}`, 1, '64-bit id'],
      [sql`visitor_id = ${0xfedcba9876543211n}`, 0, 'the id beside it'],
      [sql`timestamp = ${new Date('2026-11-21T08:00:00Z')}`, 1, 'instant'],
      [sql`timestamp < ${new Date('2026-11-21T08:00:00Z')}`, 0, 'exclusive'],
      [sql`site_id = ${1}`, 1, 'number'],
      [sql`pathname = ${"' or 1=1 --"}`, 0, 'a value is never text'],
      [sql`(${true} and pathname = ${'/'})`, 1, 'boolean and text'],
      [sql`coalesce(${null}, pathname) = ${'/'}`, 1, 'null'],
    ]
    for (const [where, expected, why] of cases) {
      t.strictSame(await store.query(sql`select count(*) as n from events where ${where}`), [{ n: expected }], why)
    }
  })

  t.test('a failed query is a database_error and changes nothing', async (t) => {
    const store = await open(t)
    await store.append({ events: [eventRow()], agent_events: [] })
    for (const text of ['select nothing from nowhere', 'selec', '', 'select 1; delete from events']) {
      await t.rejects(store.query(raw(text)), { code: 'database_error', name: 'ApiError' }, text)
    }
    await t.rejects(store.query(sql`select cast('x' as integer) from events`), ApiError)
    t.strictSame(await store.query(sql`select count(*) as n from events`), [{ n: 1 }])
  })

  t.test('concurrent queries all return their own rows while rows are stored', async (t) => {
    const store = await open(t)
    const asked = Array.from({ length: 20 }, async (_, n) => {
      t.strictSame(await store.query(sql`select ${n} as n`), [{ n }])
    })
    const appended = Array.from({ length: 20 }, (_, n) =>
      store.append({ events: [eventRow({ site_id: n })], agent_events: [agentRow({ site_id: n })] }),
    )
    await Promise.all([...asked, ...appended])
    const counted = sql`select (select count(*) from events) as events, (select count(*) from agent_events) as agents`
    t.strictSame(await store.query(counted), [{ events: 20, agents: 20 }])
  })

  t.test('an append stores all rows or none', async (t) => {
    const store = await open(t)
    const bad = eventRow({ timestamp: new Date(Number.NaN) })
    const good = Array.from({ length: 3_000 }, () => eventRow())
    await t.rejects(store.append({ events: [...good, bad], agent_events: [agentRow()] }))
    await t.rejects(store.append({ events: good, agent_events: [agentRow({ bytes: Number.NaN })] }))
    await store.append({ events: [eventRow()], agent_events: [] })
    const counted = sql`select (select count(*) from events) as events, (select count(*) from agent_events) as agents`
    t.strictSame(await store.query(counted), [{ events: 1, agents: 0 }])
  })

  t.test('texts become the same numbers and texts on every engine', async (t) => {
    const store = await open(t)
    const { dialect } = store
    const text = raw('t')
    const compare = async (
      name: string,
      convert: Sql,
      cases: readonly (readonly [string | null, unknown, string?])[],
    ) => {
      for (const [given, expected, why] of cases) {
        const [row] = await store.query(sql`select ${convert} as found from (select ${given} as t) s`)
        t.strictSame(row?.found, expected, `${name} of ${JSON.stringify(given)}${why ? `: ${why}` : ''}`)
      }
    }
    await compare('toNumber', dialect.toNumber(text), NUMBERS)
    await compare('toDecimal', dialect.toDecimal(text), DECIMALS)
    await compare('lower', dialect.lower(text), LOWER)
    await compare('textBefore', dialect.textBefore(text, '#'), [
      ['/a#/b#/c', '/a'],
      ['/a/b', '/a/b', 'no separator'],
      ['#/', '', 'nothing before'],
      ['é😀#/', 'é😀'],
      ['', ''],
      [null, null],
    ])
    await compare('firstGroup', dialect.firstGroup(text, '^https?://(?:[^/]*[.])?(a[.]example|b[.]example/x)(?:/|$)'), [
      ['https://a.example/', 'a.example'],
      ['https://www.a.example/b.example/x', 'a.example'],
      ['http://b.example/x', 'b.example/x'],
      ['https://b.example/y', '', 'no match'],
      ['https://nota.example/', '', 'no match'],
      ['', ''],
      [null, null],
    ])
    for (const [given, expected] of LOWER) t.equal(foldCase(given), expected, 'as in JavaScript')
    for (const [value, expected] of JSON_VALUES)
      await compare('jsonText', dialect.jsonText(text, 'k'), [[JSON.stringify({ a: '~/"', k: value }), expected]])
    await compare('jsonText', dialect.jsonText(text, 'k'), [
      ['{"a":1}', null, 'no such key'],
      ['{"a":', null, 'no JSON'],
      ['[1]', null, 'no object'],
      ['', null],
      [null, null],
      ['{"k":"\\ud800"}', null, 'half a surrogate pair'],
    ])
    for (const key of ['', ' ', '"', "'", '~', '/', '~1', '$', '[0]', '.', 'é', '__proto__', 'a b', '\\'])
      await compare('jsonText', dialect.jsonText(text, key), [
        [JSON.stringify(Object.fromEntries([[key, 'v']])), 'v', key],
      ])
    const each = dialect.jsonEach(sql`select ${JSON.stringify({ a: 1, b: 'x', c: null, d: true })} as t`, text)
    t.strictSame(await store.query(sql`select key, value from (${each}) e order by key`), [
      ...[
        { key: 'a', value: '1' },
        { key: 'b', value: 'x' },
        { key: 'c', value: null },
        { key: 'd', value: 'true' },
      ],
    ])
  })

  t.test('rows of a parameter have the values that they were given', async (t) => {
    const store = await open(t)
    const { dialect } = store
    const types = {
      ...({ n: 'integer', big: 'bigint', session_id: 'ubigint', x: 'double' } as const),
      ...({ text: 'varchar', yes: 'boolean', moment: 'timestamp' } as const),
    }
    const rows = [
      { n: -5, big: 2 ** 53 - 1, session_id: 2n ** 64n - 1n, x: 0.1, text: `'"\\\u0000\n😀{p1:String}$1`, yes: true },
      { n: 2 ** 31 - 1, big: -(2 ** 53) + 1, session_id: 0n, x: -1e21, text: '', yes: false, moment: new Date(-1) },
      { n: 0, big: null, session_id: null, x: null, text: null, yes: null, moment: null },
      { n: 1, text: '12', moment: new Date('2026-03-29T01:00:00.001Z'), other: 'not listed' },
    ]
    const nothing = { n: null, big: null, session_id: null, x: null, text: null, yes: null, moment: null }
    const expected = rows.map(({ other: _, ...row }: (typeof rows)[number] & { other?: string }) => ({
      ...nothing,
      ...row,
      session_id: typeof row.session_id === 'bigint' ? row.session_id.toString(16).padStart(16, '0') : null,
    }))
    const selected = sql`select * from ${dialect.rows(rows, types)} r order by n`
    t.strictSame(
      await store.query(selected),
      expected.toSorted((a, b) => a.n - b.n),
    )
    const halfPair = dialect.rows([{ text: '/\ud83d' }], { text: 'varchar' })
    t.strictSame(await store.query(sql`select * from ${halfPair} r`), [{ text: '/\ufffd' }], 'half a pair')
    await store.append({ events: [eventRow({ visitor_id: 2n ** 64n - 1n }), eventRow()], agent_events: [] })
    const ids = dialect.rows([{ id: 2n ** 64n - 1n }, { id: 7n }], { id: 'ubigint' })
    const listed = sql`select count(*) as n from events where visitor_id in ${ids}`
    t.strictSame(await store.query(listed), [{ n: 1 }], 'a list of ids')
    const many = Array.from({ length: 20_000 }, (_, id) => ({ id, text: 'é'.repeat(20) }))
    const counted = dialect.rows(many, { id: 'integer', text: 'varchar' })
    t.strictSame(await store.query(sql`select count(*) as n, max(id) as last from ${counted} r`), [
      { n: 20_000, last: 19_999 },
    ])
  })

  t.test('sums are exact, and a union of counts and sums has one type', async (t) => {
    const store = await open(t)
    const { dialect } = store
    const amounts = sql`select ${'0.1'} as t union all select ${'0.2'} as t union all select ${'99999999999999'} as t`
    const summed = sql`select sum(${dialect.toDecimal(raw('t'))}) as n from (${amounts}) a`
    t.strictSame(await store.query(summed), [{ n: 99999999999999.3 }])
    const number = (value: Sql) => dialect.toInteger(value)
    const [row] = await store.query(sql`
      select sum(n) as n from (
        select ${number(raw('count(*)'))} as n from events union all select ${number(sql`-${5}`)} as n
        union all select ${number(raw('sum(2.0)'))} as n union all select ${number(raw('null'))} as n) u`)
    t.strictSame(row, { n: -3 })
  })

  t.test('after close every call fails and none hangs', async (t) => {
    const store = await open(t)
    await store.close()
    await t.rejects(store.query(sql`select 1`), { code: 'database_error' })
    await t.rejects(store.append({ events: [eventRow()], agent_events: [] }), { code: 'database_error' })
    await store.close()
  })
}
