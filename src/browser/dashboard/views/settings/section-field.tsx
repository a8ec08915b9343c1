import { useEffect, useState } from 'preact/hooks'
import { Lines } from '../../parts/fields.js'
import { Cut } from '../../parts/names.js'
import { useRead } from '../../state/data.js'
import { shownPath } from '../../state/path-name.js'
import { t } from '../../texts/index.js'

/** The time after the last key before the pattern is asked about. */
const PAUSE_MS = 300

/** The line of a text in which the caret stands. */
const lineAt = (text: string, caret: number): string =>
  text
    .slice(text.lastIndexOf('\n', caret - 1) + 1)
    .split('\n')[0]
    ?.trim() ?? ''

/** The field of the patterns: it says what the pattern on the line of the caret fits, and which sections are in effect. */
export function SectionField({ site, lines }: { site: number; lines: readonly string[] | undefined }) {
  const texts = t().settings.site
  const [typed, setTyped] = useState('')
  const [pattern, setPattern] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setPattern(typed), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [typed])
  const params = { id: site }
  const { data } = useRead('/api/sites/{id}/sections', {}, { params })
  const asked = useRead('/api/sites/{id}/sections', pattern.startsWith('/') ? { pattern } : undefined, { params })
  const { units } = t()
  const fits = asked.data?.fits
  return (
    <>
      <Lines
        label={texts.sections}
        hint={texts.sectionsHint}
        name="sections"
        lines={lines}
        onInput={({ currentTarget }) => setTyped(lineAt(currentTarget.value, currentTarget.selectionStart))}
      />
      <p class="muted small section-fits" role="status">
        {fits &&
          texts.sectionFits(shownPath(fits.pattern), units.pages(fits.pages), fits.examples.map(shownPath), fits.pages)}
        {fits && fits.taken > 0 && ` ${texts.sectionTaken(units.pages(fits.taken))}`}
      </p>
      {data && data.sections.length > 0 && (
        <ol class="sections-in-effect small">
          {data.sections.map(({ pattern: name, origin, pages }) => (
            <li key={name}>
              <Cut text={shownPath(name)} whole={name} /> <span class="muted">{units.pages(pages)}</span>{' '}
              <span class="tag">{texts.sectionOrigin[origin]}</span>
            </li>
          ))}
        </ol>
      )}
    </>
  )
}
