import t from 'tap'
import { parseRobots } from '../../../src/agents/policy/parse-robots.js'

t.test('License records (RSL 1.0) belong to the whole file', async (t) => {
  const url = 'https://a.example/licence.xml'
  const body = [
    `License: ${url}`, // line 1
    'User-agent: a',
    `licence: ${url}`,
    `LICENSE:${url}?n=2 # the second`,
    'User-agent: b',
    'Disallow: /x',
    'License: /licence.xml',
    'License: //a.example/licence.xml',
    'License: ftp://a.example/licence.xml',
    'License: https://',
    'License:',
    'License: https://a.example/a b',
  ].join('\n')
  for (const mode of ['rfc', 'google'] as const) {
    const parsed = parseRobots(body, mode)
    t.same(
      parsed.licenses,
      [
        { url, line: 1 },
        { url: `${url}?n=2`, line: 4 },
      ],
      'absolute URLs, wherever they stand; a licence with British spelling is another record',
    )
    t.same(
      parsed.groups.map(({ user_agents }) => user_agents),
      [['a', 'b']],
      'the records end no list of user agents',
    )
    t.same(
      parsed.problems.filter(({ problem }) => /License/.test(problem)),
      [7, 8, 9, 10, 11, 12].map((line) => ({ line, problem: 'License without an absolute URL' })),
      'relative, broken and empty URLs, and those of another protocol',
    )
  }
})
