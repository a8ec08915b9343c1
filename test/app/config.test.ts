import t from 'tap'
import { ConfigError, loadConfig, SETTINGS, type SettingSources } from '../../src/app/config.js'

const load = (sources: Partial<SettingSources> & { yaml?: string }) =>
  loadConfig({
    flags: sources.flags ?? {},
    env: sources.env ?? {},
    file: sources.file,
    read: (path) => (path === (sources.file ?? 'readership.yaml') ? sources.yaml : undefined),
  })

t.test('precedence: defaults, file, environment, flags', async (t) => {
  const rows: [Parameters<typeof load>[0], string, unknown, string][] = [
    [{}, 'port', 8080, 'default'],
    [{}, 'trust_proxy', ['loopback'], 'default list'],
    [{}, 'origin', undefined, 'no default'],
    [{ yaml: 'port: 1' }, 'port', 1, 'file over default'],
    [{ yaml: 'port: 1', env: { READERSHIP_PORT: '2' } }, 'port', 2, 'environment over file'],
    [{ yaml: 'port: 1', env: { READERSHIP_PORT: '2' }, flags: { port: '3' } }, 'port', 3, 'flags over all'],
    [{ yaml: 'port: 1', env: { READERSHIP_PORT: '' } }, 'port', 1, 'an empty variable counts as not set'],
    [{ yaml: 'port:\nhost: a' }, 'port', 8080, 'a key without a value'],
    [{ yaml: '# only a comment' }, 'port', 8080, 'an empty file'],
    [{ env: { READERSHIP_DOMAIN: 'a.com, B.com' } }, 'domain', ['a.com', 'b.com'], 'commas in a variable'],
    [{ yaml: 'domain: a.com' }, 'domain', ['a.com'], 'one value instead of a list'],
    [{ yaml: 'expose: [ingest, dashboard]' }, 'expose', ['ingest', 'api'], 'the dashboard comes with the API'],
    [{ yaml: 'domain: [a.com, b.com]' }, 'domain', ['a.com', 'b.com'], 'a list'],
    [
      { flags: { domain: ['a.com', 'bücher.de'] } },
      'domain',
      ['a.com', 'xn--bcher-kva.de'],
      'repeated; IDN as on the wire',
    ],
    [{ yaml: 'domain: [a.com]', flags: { domain: ['b.com'] } }, 'domain', ['b.com'], 'a list replaces, never adds'],
    [{}, 'cors_origins', [], 'no origin by default'],
    [
      { env: { READERSHIP_CORS_ORIGINS: 'https://Dash.Example:443/,http://localhost:3000, https://bücher.de' } },
      'cors_origins',
      ['https://dash.example', 'http://localhost:3000', 'https://xn--bcher-kva.de'],
      'as browsers send them in Origin',
    ],
    [{}, 'inject', false, 'pages stay as they are'],
    [{ flags: { inject: 'true' } }, 'inject', true, 'a switch'],
    [{}, 'page_samples', 'on', 'pages are sampled'],
    [{ env: { READERSHIP_PAGE_SAMPLES: 'off' } }, 'page_samples', 'off', 'or not'],
    [{ flags: { min_free_disk: '0' } }, 'min_free_disk', 0, 'no reserve'],
    [{ flags: { min_free_disk: '1.5GiB' } }, 'min_free_disk', 1_610_612_736, '1.5 * 1024^3'],
    [{ flags: { min_free_disk: '20 mb' } }, 'min_free_disk', 20_000_000, 'decimal, any case'],
    [{ file: 'x.yaml', yaml: 'port: 5' }, 'port', 5, '--config'],
    [{ env: { PORT: 'x', OTHER: '1' } }, 'port', 8080, 'other variables are ignored'],
    [{ env: { READERSHIP_TEST_BROWSER: 'x' } }, 'port', 8080, 'variables of the tests are none of the program’s'],
    [{ env: { READERSHIP_TO: 'duckdb:/d' } }, 'to', 'duckdb:/d', 'the target of migrate, with its password'],
    [{ flags: { origin: 'https://localhost:3000' } }, 'origin', 'https://localhost:3000', 'the argument'],
  ]
  for (const [sources, name, expected, why] of rows) {
    const config: Record<string, unknown> = load(sources)
    t.same(config[name], expected, why)
  }
})

t.test('an unknown or invalid setting is named in one line', async (t) => {
  const rows: [Parameters<typeof load>[0], string, RegExp][] = [
    [{ yaml: 'host: a\nprot: 1' }, 'prot', /^readership\.yaml:2: prot is not a setting; did you mean port\?$/],
    [{ yaml: 'zzzzzzzz: 1' }, 'zzzzzzzz', /zzzzzzzz is not a setting\.$/],
    [{ yaml: '__proto__: 1' }, '__proto__', /__proto__ is not a setting/],
    [{ yaml: 'constructor: 1' }, 'constructor', /constructor is not a setting/],
    [{ yaml: 'inject: perhaps' }, 'inject', /^readership\.yaml:1: inject must be true or false, not "perhaps"\.$/],
    [{ env: { READERSHIP_DATTA: 'x' } }, 'READERSHIP_DATTA', /did you mean READERSHIP_DATA\?$/],
    [{ env: { READERSHIP_COLLECTER: 'http://x' } }, 'READERSHIP_COLLECTER', /READERSHIP_COLLECTER is not a setting/],
    [{ yaml: 'host: a\n\nport: web' }, 'port', /^readership\.yaml:3: port must be a whole number, not "web"\.$/],
    ...[
      '*',
      'null',
      'dash.example',
      'https://*.example',
      'https://a.example/x',
      'https://u@a.example',
      'file:///x',
    ].map((value): [Parameters<typeof load>[0], string, RegExp] => [
      { flags: { cors_origins: [value] } },
      'cors_origins',
      /^--cors-origins must be .*, not "/,
    ]),
    [{ yaml: 'port: 80.5' }, 'port', /port .*80\.5/],
    [{ flags: { port: '70000' } }, 'port', /^--port must be at most 65535, not "70000"\.$/],
    [{ flags: { admin_port: '-1' } }, 'admin_port', /^--admin-port must be a whole number, not "-1"\.$/],
    [{ env: { READERSHIP_PORT: '8080x' } }, 'port', /^READERSHIP_PORT must be a whole number/],
    [{ flags: { origin: 'localhost:3000' } }, 'origin', /^origin must be an http or https URL/],
    [{ flags: { origin: 'ftp://x' } }, 'origin', /^origin must be an http or https URL/],
    [{ flags: { origin: 'http://x/path' } }, 'origin', /^origin must be an http or https URL of only a host/],
    [{ flags: { origin: 'http://u:p@x' } }, 'origin', /^origin must be/],
    [{ flags: { origin: 'http://' } }, 'origin', /^origin must be/],
    [
      { yaml: 'expose: [api, metrics]' },
      'expose',
      /expose must be ingest, mcp, or api \(also: dashboard\), not "metrics"/,
    ],
    [{ flags: { domain: ['ok.com', 'http://x'] } }, 'domain', /^--domain must be a hostname.*"http:\/\/x"/],
    [{ flags: { domain: ['x:8080'] } }, 'domain', /^--domain must be a hostname/],
    [{ flags: { base_path: 'x' } }, 'base_path', /^--base-path must be a path/],
    [{ flags: { base_path: '/' } }, 'base_path', /^--base-path must be a path/],
    [{ flags: { memory_limit: 'lots' } }, 'memory_limit', /^--memory-limit must be a size/],
    [{ flags: { min_free_disk: 'x' } }, 'min_free_disk', /^--min-free-disk must be a size/],
    [{ flags: { log_level: 'loud' } }, 'log_level', /^--log-level must be one of error, warn, info, debug/],
    [{ flags: { tls_cert: 'a' } }, 'tls_key', /--tls-cert and --tls-key must be set together/],
    [{ flags: { backup_keep: '0', backup_dir: 'b' } }, 'backup_keep', /^--backup-keep must be at least 1/],
    [{ flags: { backup_keep: '3' } }, 'backup_keep', /^--backup-keep needs --backup-dir\.$/],
    [{ flags: { collector: 'stats.example.com' } }, 'collector', /^--collector must be an http or https URL/],
    [{ flags: { collector: 'https://u:p@x' } }, 'collector', /^--collector must be/],
    [{ flags: { collector: 'https://x' } }, 'ingest_key_file', /^--collector needs .*--ingest-key-file/],
    [{ flags: { ingest_key: 'k' } }, 'ingest_key', /^--ingest-key needs --collector\.$/],
    [{ yaml: 'site: 2' }, 'site', /^readership\.yaml:1: site needs --collector/],
    [
      { flags: { collector: 'https://x', ingest_key_file: 'f' }, env: { READERSHIP_INGEST_KEY: 'k' } },
      'ingest_key',
      /^READERSHIP_INGEST_KEY and --ingest-key-file cannot be set together\.$/,
    ],
    [
      { flags: { collector: 'https://x', ingest_key: 'k' }, env: { READERSHIP_GEOIP: 'g' } },
      'geoip',
      /^READERSHIP_GEOIP has no effect with --collector: set it at the collector\.$/,
    ],
    [{ flags: { collector: 'https://x', ingest_key: 'k', spool_limit: '1KB' } }, 'spool_limit', /at least 1MB/],
    [
      { yaml: 'collector: https://x\ningest_key: 12345' },
      'ingest_key',
      /^(?!.*12345)readership\.yaml:2: ingest_key must be text\.$/,
    ],
    [
      { flags: { collector: 'https://x', ingest_key: 'two words' } },
      'ingest_key',
      /^(?!.*words)--ingest-key must be one word\.$/,
    ],
    [{ flags: { control: 'localhost/db' } }, 'control', /^--control must be a URL such as postgres:\/\//],
    [
      { flags: { control: 'mysql://u:hidden@x/db' } },
      'control',
      /^(?!.*hidden)--control must be a URL such as postgres/,
    ],
    [
      { flags: { store: 'http://u:hidden@x/db' } },
      'store',
      /^(?!.*hidden)--store must be a URL such as clickhouse:\/\//,
    ],
    [{ flags: { role: 'boss' } }, 'role', /^--role must be writer, reader or both/],
    [{ flags: { role: 'reader', control: 'postgres://x/y' } }, 'role', /^--role needs --store and --control, which/],
    [{ env: { READERSHIP_ADVERTISE: 'http://x' } }, 'advertise', /^READERSHIP_ADVERTISE needs --control\.$/],
    [
      { flags: { collector: 'https://x', ingest_key: 'k', control: 'postgres://x/y' } },
      'control',
      /^--control has no effect with --collector/,
    ],
    [{ yaml: '- a\n- b' }, 'readership.yaml', /must be a map of settings/],
    [{ yaml: 'port: [' }, 'readership.yaml', /^readership\.yaml:1: /],
    [{ yaml: 'port: 1\nport: 2' }, 'readership.yaml', /^readership\.yaml:2: .*unique/],
    [{ file: 'gone.yaml' }, 'config', /^gone\.yaml: no such configuration file\.$/],
    [{ env: { READERSHIP_CONFIG: 'gone.yaml' } }, 'config', /^gone\.yaml: no such/],
  ]
  for (const [sources, setting, message] of rows) {
    try {
      load(sources)
      t.fail(`${JSON.stringify(sources)} was accepted`)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      t.match(error.message, message)
      t.equal(error.setting, setting, message.source)
      t.notMatch(error.message, '\n', 'one line')
    }
  }
})

t.test('every setting has a description and a variable', async (t) => {
  for (const one of SETTINGS) {
    t.match(one.doc, /\w/, one.name)
    t.equal(one.env, `READERSHIP_${one.name.toUpperCase()}`)
  }
  t.equal(SETTINGS.find((one) => one.name === 'admin_host')?.flag, '--admin-host <address>')
  t.equal(SETTINGS.find((one) => one.name === 'origin')?.flag, undefined, 'an argument')
})
