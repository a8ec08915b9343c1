import { existsSync } from 'node:fs'

/** The folder of the site, that of its scripts and style, and the dashboard's colours, which it has too. */
export const TARGET = 'dist/docs'
export const SCRIPTS = 'src/browser/docs'
export const TOKENS = 'src/browser/dashboard/styles/tokens.css'

/** A page of the documentation site: a Markdown file of the repository. */
export interface DocsPage {
  /** The path of the file in the repository. */
  readonly file: string
  /** The name of the page's file in the site, without `.html`. */
  readonly name: string
  readonly title: string
}

interface Chapter {
  readonly title: string
  readonly pages: readonly DocsPage[]
}

const chapter = (title: string, ...pages: DocsPage[]): Chapter => ({ title, pages })
const page = (file: string, name: string, title: string): DocsPage => ({ file, name, title })

/** Every page of the site, in the order of its navigation. The first one is the site's start. */
export const CHAPTERS: readonly Chapter[] = [
  chapter(
    'Start',
    page('README.md', 'index', 'readership'),
    page('src/docs/adopting.md', 'adopting', 'Before you adopt it'),
    page('examples/README.md', 'examples', 'Examples'),
    page('src/docs/uninstall.md', 'uninstall', 'Uninstall'),
  ),
  chapter(
    'Frameworks and servers',
    page('examples/frameworks/README.md', 'frameworks', 'Frameworks'),
    page('examples/frameworks/next/README.md', 'next', 'Next.js'),
    page('examples/frameworks/nuxt/README.md', 'nuxt', 'Nuxt and Nitro'),
    page('examples/frameworks/sveltekit/README.md', 'sveltekit', 'SvelteKit'),
    page('examples/frameworks/astro/README.md', 'astro', 'Astro'),
    page('examples/frameworks/react-router/README.md', 'react-router', 'React Router and Remix'),
    page('examples/frameworks/express/README.md', 'express', 'Express'),
    page('examples/frameworks/fastify/README.md', 'fastify', 'Fastify'),
    page('examples/frameworks/koa/README.md', 'koa', 'Koa'),
    page('examples/frameworks/hono/README.md', 'hono', 'Hono'),
    page('examples/frameworks/node/README.md', 'node', 'Node without a framework'),
    page('examples/servers/README.md', 'servers', 'Web servers in front'),
    page('adapters/README.md', 'adapters', 'Inside an application'),
    page('src/site/proxy/README.md', 'proxy', 'The proxy'),
    page('src/browser/tracker/README.md', 'tracker', 'The script in the page'),
    page('src/site/shipping/README.md', 'shipping', 'Many servers, one store'),
    page('examples/container/README.md', 'container', 'Containers'),
    page('examples/fleet/README.md', 'fleet', 'A fleet'),
  ),
  chapter(
    'What is counted',
    page('src/analytics/query/README.md', 'metrics', 'Windows, filters and metrics'),
    page('src/analytics/reads/README.md', 'reads', 'Reads and their lists'),
    page('src/capture/README.md', 'capture', 'Requests, campaigns and devices'),
    page('src/worker/ingest/README.md', 'rows', 'Sessions, visitors and rows'),
    page('src/worker/ingest/place/README.md', 'places', 'Countries and networks'),
    page('src/manage/annotation-writers/README.md', 'notes', 'Automatic notes'),
    page('src/browser/dashboard/README.md', 'dashboard', 'The dashboard'),
  ),
  chapter(
    'Agents and verification',
    page('src/agents/README.md', 'agents', 'Who an agent is'),
    page('src/agents/policy/README.md', 'policy', 'What a site allows'),
    page('src/rules/README.md', 'rules', 'Rules for agents'),
    page('src/api/evidence/README.md', 'evidence', 'The evidence folder'),
  ),
  chapter(
    'Privacy',
    page('src/docs/privacy.md', 'privacy', 'Privacy'),
    page('src/docs/accessibility.md', 'accessibility', 'Accessibility'),
    page('src/base/outbound/README.md', 'outbound', 'Requests that readership sends'),
  ),
  chapter(
    'API',
    page('src/api/README.md', 'api', 'Endpoints, access and limits'),
    page('src/api/mcp/README.md', 'mcp', 'AI programs ask (MCP)'),
    page('src/manage/README.md', 'manage', 'Sites, people and records'),
    page('src/analytics/export/README.md', 'export', 'CSV and PDF'),
  ),
  chapter(
    'Command line',
    page('src/app/cli/README.md', 'cli', 'Commands and settings'),
    page('src/history/log-report/README.md', 'report', 'Report of a log'),
    page('src/history/access-logs/README.md', 'logs', 'Formats of access logs'),
  ),
  chapter(
    'Operations',
    page('src/docs/operations.md', 'operations', 'Sizes, backup, upgrade, alerts'),
    page('src/storage/backup/README.md', 'backup', 'Backup'),
    page('src/storage/duckdb/README.md', 'duckdb', 'DuckDB'),
    page('src/storage/clickhouse/README.md', 'clickhouse', 'ClickHouse'),
    page('src/storage/postgres/README.md', 'postgres', 'PostgreSQL'),
    page('src/storage/migrate/README.md', 'migrate', 'Another engine'),
    page('src/manage/notify/README.md', 'notify', 'Alerts, reports and webhooks'),
    page('examples/grafana/README.md', 'grafana', 'Grafana and Prometheus'),
  ),
  chapter('Faults and promises', page('src/site/faults.md', 'faults', 'Promises and faults')),
  chapter(
    'Costs',
    page('test/bench/costs.md', 'costs', 'CPU, memory and time'),
    page('test/bench/README.md', 'benchmarks', 'How it is measured'),
  ),
  chapter(
    'Coming from other tools',
    page('src/docs/coming-from.md', 'coming-from', 'Coming from Plausible, Umami, Matomo, GoAccess, Cloudflare'),
    page('src/history/other-tools/README.md', 'other-tools', 'Exports of other tools'),
    page('src/history/log-import/README.md', 'log-import', 'Import of access logs'),
    page('src/worker/import/README.md', 'imported-rows', 'What an imported line becomes'),
  ),
  chapter(
    'Versions',
    page('src/docs/versions.md', 'versions', 'Versions and support'),
    page('.github/CHANGELOG.md', 'changelog', 'Changes'),
    page('.github/SECURITY.md', 'security', 'Reporting a vulnerability'),
    page('src/docs/dependencies.md', 'dependencies', 'Packages in the package'),
  ),
]

/** Returns the pages whose files exist: a page may be listed before it is written. */
export const listPages = (): readonly DocsPage[] =>
  CHAPTERS.flatMap(({ pages }) => pages).filter(({ file }) => existsSync(file))

/** Markdown files that are not pages, with the reason. Links to them lead to the repository. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  'src/README.md': 'for engineers who change the code',
  'src/app/instance/README.md': 'how the code of one process fits together',
  'src/docs/README.md': 'lists the pages of this folder for engineers',
  'src/storage/dialects/README.md': 'how SQL differs between engines',
  'src/worker/README.md': 'how the worker is built',
  'src/worker-client/README.md': 'how the worker is called',
  'test/README.md': 'for engineers who change the code',
}
