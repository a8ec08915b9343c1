import { html, raw } from 'hono/html'
import type { ApiOperation, ApiResponseObject, OpenApiDocument } from './openapi.js'
import type { Parameter } from './openapi-parameters.js'
import { describeType, listFields, type SchemaField } from './schema-fields.js'

export const DOCS_STYLE = `:root{color-scheme:light dark;--line:#8886;--soft:#8882;--link:light-dark(#0b5cad,#8ec5ff)}
*{box-sizing:border-box}html{scroll-padding-top:1rem}
body{font:16px/1.5 system-ui,sans-serif;margin:0;color:light-dark(#1b1b1b,#e8e8e8);background:light-dark(#fff,#16181b)}
a{color:var(--link)}a:focus-visible,summary:focus-visible,pre:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.page{max-width:76rem;margin:0 auto;padding:1rem;display:grid;grid-template-columns:17rem minmax(0,1fr);gap:2.5rem}
nav{position:sticky;top:0;align-self:start;max-height:100vh;overflow:auto;font-size:.85rem;padding:1rem 0}
nav ul{list-style:none;margin:0 0 .8rem;padding:0}nav h2{font-size:.85rem;margin:.2rem 0}nav li{overflow-wrap:anywhere}
code,pre{font:.88em/1.45 ui-monospace,monospace}code{overflow-wrap:anywhere}
pre{overflow:auto;max-height:30rem;padding:.7rem;background:var(--soft);border-radius:.4rem;margin:.5rem 0}
h1{margin:.2rem 0;font-size:1.6rem}h2{margin:2rem 0 .3rem;font-size:1.25rem}h3{margin:0;font-size:1.1rem}h4{margin:.9rem 0 .2rem;font-size:.9rem}
article{border-top:1px solid var(--line);padding:1rem 0}article p,td p{margin:.25rem 0}h3 a{color:inherit;text-decoration:none}h3 a:hover{text-decoration:underline}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:.25rem .8rem .25rem 0;border-bottom:1px solid var(--soft)}th{font-weight:600}td:first-child{min-width:13rem}
details{margin:.4rem 0}summary{cursor:pointer;font-weight:600;font-size:.9rem}.must{font-size:.8em;opacity:.8}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;background:Canvas;padding:.3rem .6rem}
@media(max-width:52rem){.page{grid-template-columns:minmax(0,1fr);gap:0}nav{position:static;max-height:none;border-bottom:1px solid var(--line)}nav ul{columns:2}
table,tbody,tr,td{display:block}thead{position:absolute;left:-99rem}tr{border-bottom:1px solid var(--soft);padding:.3rem 0}td,td:first-child{border:0;padding:0;min-width:0}}`

type Html = ReturnType<typeof html>

/** Renders a description; text between backticks is code. */
const inlineCode = (text: string): Html =>
  html`${text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part))}`

const table = (heads: readonly string[], rows: Html[]): Html =>
  html`<table><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>${rows}</tbody></table>`

const nameCell = (text: string, required: boolean): Html =>
  html`<td><code>${text}</code>${required ? html` <span class="must">required</span>` : ''}</td>`

const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Renders parameters; `anchor` is the link target of a shared one. */
const parameterTable = (parameters: readonly (Parameter & { anchor?: string })[]): Html =>
  table(
    ['Parameter', 'Type', 'Description', 'Example'],
    parameters.map(({ anchor, name, required, description, schema, content, example }) => {
      const value = content?.['application/json']
      return html`<tr${anchor === undefined ? '' : html` id="parameter-${anchor}"`}>${nameCell(name, required)}<td>${
        value ? 'JSON' : describeType(schema ?? {})
      }${schema?.default === undefined ? '' : `, default ${toText(schema.default)}`}</td><td>${inlineCode(description ?? '')}</td><td><code>${toText(
        value ? value.example : example,
      )}</code></td></tr>`
    }),
  )

const fieldTable = (fields: readonly SchemaField[]): Html =>
  table(
    ['Field', 'Type', 'Description'],
    fields.map(
      ({ path, type, required, description }) =>
        html`<tr>${nameCell(path, required)}<td>${type}</td><td>${inlineCode(description)}</td></tr>`,
    ),
  )

const jsonBlock = (value: unknown, label: string): Html =>
  html`<pre tabindex="0" role="region" aria-label="${label}">${
    typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  }</pre>`

const lastSegment = (reference: string): string => reference.split('/').at(-1) ?? ''

function operationArticle(path: string, method: string, operation: ApiOperation): Html {
  const parameters = (operation.parameters ?? []).flatMap((one) => ('$ref' in one ? [] : one))
  const common = (operation.parameters ?? []).flatMap((one) => ('$ref' in one ? lastSegment(one.$ref) : []))
  const replies = Object.entries(operation.responses)
  const failures = replies.flatMap(([status, one]) => ('$ref' in one ? [{ status, name: lastSegment(one.$ref) }] : []))
  const body = operation.requestBody?.content['application/json']
  const id = operation.operationId
  return html`<article id="${id}" aria-labelledby="${id}-title">
<h3 id="${id}-title"><a href="#${id}"><code>${method.toUpperCase()} ${path}</code></a></h3>
<p>${operation.summary}. ${operation.description}</p>
${parameters.length > 0 ? html`<h4>Parameters</h4>${parameterTable(parameters)}` : ''}
${
  common.length > 0
    ? html`<p>${parameters.length > 0 ? 'Also accepts' : 'Accepts'} ${common.map(
        (name, i) => html`${i > 0 ? ', ' : ''}<a href="#parameter-${name}"><code>${name.replace(/_+$/, '')}</code></a>`,
      )}.</p>`
    : ''
}
${body ? html`<details><summary>Body</summary>${fieldTable(listFields(body.schema))}</details>` : ''}
${replies.map(([status, reply]) => ('$ref' in reply ? '' : responseDetails(status, reply)))}
<details><summary>Example</summary>${operation['x-codeSamples']?.map(({ source }) => jsonBlock(source, 'Request'))}${replies.map(
    ([status, reply]) =>
      '$ref' in reply || reply.content?.['application/json']?.example === undefined || !status.startsWith('2')
        ? ''
        : jsonBlock(reply.content['application/json'].example, 'Response'),
  )}</details>
${
  failures.length > 0
    ? html`<p>Errors: ${failures.map(
        ({ status, name }, i) => html`${i > 0 ? ', ' : ''}<a href="#failure-${name}">${status}</a>`,
      )}.</p>`
    : ''
}</article>`
}

function responseDetails(status: string, { description, content = {} }: ApiResponseObject): Html {
  const [[type, value] = []] = Object.entries(content)
  if (type === undefined || value === undefined) return html`<p>${status}: ${description}</p>`
  const fields = listFields(value.schema)
  if (fields.length === 0) return html`<p>${status}: ${description} (<code>${type}</code>)</p>`
  return html`<details><summary>${status}: ${description}</summary>${fieldTable(fields)}</details>`
}

const errorArticle = (name: string, { description, content, headers = {} }: ApiResponseObject): Html => {
  const [status] = [content?.['application/json']?.example]
  return html`<article id="failure-${name}"><h3>${name}</h3><p>${inlineCode(description)}</p>${Object.entries(
    headers,
  ).map(
    ([header, { description }]) => html`<p><code>${header}</code>: ${description}</p>`,
  )}${jsonBlock(status, `${name}: response body`)}</article>`
}

/** Renders the API document as one HTML page without scripts, styles or images from elsewhere. */
export function docsPage(document: OpenApiDocument): Html {
  const { tags, paths, components, info } = document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const of = (tag: string) => operations.filter(({ operation }) => operation.tags.includes(tag))
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>readership API</title><style>${raw(DOCS_STYLE)}</style></head><body>
<a class="skip" href="#main">Skip to the endpoints</a>
<div class="page"><nav aria-label="Endpoints">${tags.map(
    ({ name }) =>
      html`<h2><a href="#tag-${name}">${name}</a></h2><ul>${of(name).map(
        ({ path, method, operation }) =>
          html`<li><a href="#${operation.operationId}">${method === 'get' ? '' : `${method.toUpperCase()} `}${path}</a></li>`,
      )}</ul>`,
  )}<h2>Reference</h2><ul><li><a href="#parameters">Parameters</a></li><li><a href="#filters">Filters</a></li><li><a href="#meta">Meta</a></li><li><a href="#failures">Errors</a></li></ul></nav>
<main id="main"><h1>readership API</h1>
<p>${info.description} Version ${info.version}. The same as an OpenAPI document: <a href="openapi.json">openapi.json</a>.</p>
<p>Create a key with <code>readership keys create --name me</code> and send it:</p>
<pre tabindex="0" role="region" aria-label="Example request">SERVICE=http://127.0.0.1:8081 # this page's address without /api/docs
curl -H "Authorization: Bearer $KEY" "$SERVICE/api/stats/overview?site=1&amp;range=7d"</pre>
<p>Responses are <code>{"data": …, "meta": …}</code>, errors <code>{"error": {"code", "message", "field"?}}</code>. An unknown number is
absent, never 0. Examples are recorded calls; their lists are cut to two entries.</p>
${tags.map(
  ({ name, description }) =>
    html`<section aria-labelledby="tag-${name}"><h2 id="tag-${name}">${name}</h2><p>${description}</p>${of(name).map(
      ({ path, method, operation }) => operationArticle(path, method, operation),
    )}</section>`,
)}
<section aria-labelledby="parameters"><h2 id="parameters">Shared parameters</h2>${parameterTable(
    Object.entries(components.parameters).map(([anchor, one]) => ({ ...one, anchor })),
  )}</section>
<section aria-labelledby="filters"><h2 id="filters">Filters</h2><p>${components.schemas.Filters?.description ?? ''} Groups:
<code>{"and": […]}</code>, <code>{"or": […]}</code>, <code>{"not": {…}}</code>, and for what a visitor did elsewhere in the window
<code>{"has_done": {…}}</code>, <code>{"has_not_done": {…}}</code>. A condition has:</p>${fieldTable(
    listFields(components.schemas.Condition ?? {}),
  )}</section>
<section aria-labelledby="meta"><h2 id="meta">Meta</h2><p>${components.schemas.Meta?.description ?? ''}</p>${fieldTable(
    listFields(components.schemas.Meta ?? {}),
  )}</section>
<section aria-labelledby="failures"><h2 id="failures">Errors</h2>${fieldTable(
    listFields(components.schemas.Error ?? {}),
  )}${Object.entries(components.responses).map(([name, reply]) => errorArticle(name, reply))}</section>
</main></div></body></html>`
}
