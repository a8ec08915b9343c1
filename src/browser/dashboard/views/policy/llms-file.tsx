import { textColumn } from '../../parts/columns.js'
import { OutLink } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { Absent } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import type { Result } from '../../state/data.js'
import { formatInstant, formatNumber } from '../../state/format.js'
import { t } from '../../texts/index.js'

const MAX_LINKS = 60

/** The llms.txt as parsed: its links by section, with the status that agents got last. */
export function LlmsFile({ file }: { file: Result<'/api/policy'> }) {
  const texts = t().policy
  const llms = file.data?.llms
  const links = (llms?.sections ?? []).flatMap(({ name, links: own }) =>
    own.map((link) => ({ section: name, ...link })),
  )
  return (
    <Panel
      title="llms.txt"
      aside={llms && `${texts.links(formatNumber(links.length))}, ${texts.fetched(formatInstant(llms.fetched_at))}`}
      answers={[file]}
      empty={llms === undefined}
      emptyText={texts.noLlms}
    >
      {() =>
        llms &&
        (llms.standing !== 'served' ? (
          <Absent>{texts.llmsStanding(llms.standing, llms.status)}</Absent>
        ) : (
          <>
            {llms.title && <h3>{llms.title.slice(0, 300)}</h3>}
            {llms.summary && <p class="muted">{llms.summary.slice(0, 1000)}</p>}
            <Table
              label="llms.txt"
              rows={links.slice(0, MAX_LINKS)}
              rowKey={({ section, url, title }) => `${section} ${url} ${title}`}
              columns={[
                {
                  key: 'title',
                  head: texts.linkTitle,
                  cell: ({ title, url }) => <OutLink href={url}>{title || url}</OutLink>,
                },
                textColumn('section', texts.section, { width: '16%', wide: true }),
                textColumn('notes', texts.notes, { width: '38%', wide: true }),
                {
                  key: 'status',
                  head: texts.lastStatus,
                  right: true,
                  width: '14%',
                  cell: ({ last_status, offsite, disallowed }) =>
                    disallowed ? (
                      <b>✕ {t().coverage.disallowed}</b>
                    ) : (
                      (last_status ?? <span class="muted small">{offsite ? texts.offsite : t().pages.never}</span>)
                    ),
                },
              ]}
            />
            {links.length > MAX_LINKS && <p class="foot">{texts.firstLinks(formatNumber(MAX_LINKS))}</p>}
            {llms.problems.map(({ line, problem }) => (
              <p class="foot" key={`${line} ${problem}`}>
                {line} {problem}
              </p>
            ))}
          </>
        ))
      }
    </Panel>
  )
}
