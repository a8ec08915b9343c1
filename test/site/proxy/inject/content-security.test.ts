import t from 'tap'
import { allowedNonce, type ScriptOrigin } from '../../../../src/site/proxy/inject/content-security.js'

const HTTPS: ScriptOrigin = { scheme: 'https', host: 'site.example' }
const HTTP: ScriptOrigin = { scheme: 'http', host: 'site.example:8080' }

const ROWS: [policies: string[], expected: string | undefined, why: string, setting?: ScriptOrigin][] = [
  [[], '', 'no policy'],
  [["img-src 'none'"], '', 'none of scripts'],
  [["default-src 'self'"], '', 'the page itself'],
  [["DEFAULT-SRC 'SELF'"], '', 'case'],
  [["default-src 'none'"], undefined, 'nothing at all'],
  [["script-src 'none'; connect-src 'self'"], undefined, 'no script'],
  [['script-src'], undefined, 'an empty list'],
  [["script-src 'self'; connect-src 'none'"], undefined, 'a script that cannot send'],
  [["script-src 'self'; default-src 'none'"], undefined, 'the same, by default'],
  [["script-src 'self'; connect-src https://api.example"], undefined, 'sends only elsewhere'],
  [["script-src 'unsafe-inline'; connect-src 'self'"], undefined, 'inline scripts only'],
  [["script-src 'sha256-AAAA='"], undefined, 'only by hash'],
  [["script-src 'nonce-abc'"], 'abc', 'by nonce'],
  [["script-src 'nonce-aB+/_-9=='"], 'aB+/_-9==', 'the case of a nonce is kept'],
  [["script-src 'NONCE-abC'"], 'abC', 'that of its keyword is not'],
  [["script-src 'nonce-a\"b'"], undefined, 'no nonce has a quote in it'],
  [["script-src 'nonce-'"], undefined, 'nor is it empty'],
  [["script-src 'self' 'nonce-abc'"], '', 'itself is enough'],
  [["script-src 'strict-dynamic' 'nonce-abc' 'self' https:"], 'abc', 'strict-dynamic counts the nonce alone'],
  [["script-src 'strict-dynamic' 'self' 'sha256-AAAA='"], undefined, 'without one: blocked'],
  [["script-src 'none'; script-src-elem 'self'"], '', 'elements have their own word'],
  [["script-src 'self'; script-src-elem 'none'"], undefined, 'the other way round'],
  [["script-src 'self'; script-src 'none'"], '', 'the first of two directives counts'],
  [["script-src 'self'", "script-src 'none'"], undefined, 'of two policies both'],
  [["script-src 'self', script-src 'none'"], undefined, 'in one field as well'],
  [["script-src 'nonce-abc'", "script-src 'self'"], 'abc', 'a nonce where one wants it'],
  [["script-src 'nonce-abc' 'nonce-def'", "script-src 'nonce-def'"], 'def', 'one nonce that both know'],
  [["script-src 'nonce-abc'", "script-src 'nonce-def'"], undefined, 'no tag has two'],
  [['sandbox allow-scripts'], undefined, 'a sandbox has an origin of its own'],
  [["require-trusted-types-for 'script'; script-src 'self'"], '', 'trusted types are not about tags'],
  [['script-src *; connect-src *'], '', 'any host'],
  [['script-src https:; connect-src https:'], '', 'any host by its scheme'],
  [['script-src https:'], undefined, 'which this page has not', HTTP],
  [['script-src http:; connect-src http:'], '', 'http is met by https'],
  [['script-src data: blob:'], undefined, 'other schemes'],
  [['script-src site.example; connect-src SITE.example'], '', 'by name'],
  [['script-src https://site.example https://cdn.example; connect-src *'], '', 'with its scheme'],
  [['script-src *.site.example'], undefined, 'a host below'],
  [['script-src *.example; connect-src *.example'], '', 'the host is below'],
  [['script-src notsite.example'], undefined, 'another name'],
  [['script-src site.example:443; connect-src *'], '', 'the usual port'],
  [['script-src site.example:444'], undefined, 'another port'],
  [['script-src site.example:*; connect-src *'], '', 'any port', HTTP],
  [['script-src site.example:8080; connect-src *'], '', 'its own port', HTTP],
  [['script-src site.example'], undefined, 'not the usual port', HTTP],
  [['script-src https://site.example/static/'], undefined, 'a path is not looked into'],
  [["; ;script-src  \t 'self' ;"], '', 'odd spaces'],
  [[','.repeat(2_000)], '', 'many of nothing'],
]

t.test('finds the nonce with which each policy allows the script', async (t) => {
  for (const [policies, expected, why, setting = HTTPS] of ROWS) t.equal(allowedNonce(policies, setting), expected, why)
})
