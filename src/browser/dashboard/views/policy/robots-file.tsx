import type { DataOf } from '../../client/index.js'
import { Cut, OutLink } from '../../parts/names.js'
import { t } from '../../texts/index.js'

type Robots = NonNullable<DataOf<'/api/policy'>['robots']>

/** The robots.txt as readership parsed it: groups and rules with their line numbers; `line` is highlighted. */
export function RobotsFile({ file, line }: { file: Robots; line?: number }) {
  const texts = t().policy
  return (
    <>
      {file.groups.length === 0 && <p class="muted">{texts.noGroups}</p>}
      {file.groups.map((group) => (
        <ol class="rules" key={group.line}>
          {group.user_agents.map((agent, i) => (
            <Rule key={agent} line={i === 0 ? group.line : undefined} text={`User-agent: ${agent}`} strong />
          ))}
          {group.rules.map((rule) => (
            <Rule
              key={rule.line}
              line={rule.line}
              text={`${rule.allow ? 'Allow' : 'Disallow'}: ${rule.pattern}`}
              marked={rule.line === line}
            />
          ))}
          {group.crawl_delay !== undefined && <Rule text={`Crawl-delay: ${group.crawl_delay}`} />}
          {group.content_signals && (
            <Rule
              text={`Content-Signal: ${Object.entries(group.content_signals)
                .map(([name, value]) => `${name}=${value}`)
                .join(', ')}`}
            />
          )}
        </ol>
      ))}
      {file.truncated && <p class="foot">{texts.truncated}</p>}
      {file.problems.length > 0 && (
        <>
          <h3>{texts.problems}</h3>
          <ol class="rules">
            {file.problems.slice(0, 50).map(({ line: at, problem }) => (
              <Rule key={`${at} ${problem}`} line={at} text={problem} />
            ))}
          </ol>
        </>
      )}
      {file.sitemaps.length > 0 && (
        <p class="foot sitemaps">
          {texts.sitemaps}:{' '}
          {file.sitemaps.slice(0, 20).map((sitemap) => (
            <OutLink key={sitemap} href={sitemap}>
              {sitemap}
            </OutLink>
          ))}
        </p>
      )}
    </>
  )
}

function Rule({
  line,
  text,
  marked,
  strong,
}: {
  line?: number | undefined
  text: string
  marked?: boolean
  strong?: boolean
}) {
  return (
    <li class={marked ? 'marked' : ''}>
      <span class="muted">{line}</span>
      {strong ? (
        <b>
          <Cut text={text} />
        </b>
      ) : (
        <Cut text={text} />
      )}
      {marked && <span class="small muted">{t().policy.decides}</span>}
    </li>
  )
}
