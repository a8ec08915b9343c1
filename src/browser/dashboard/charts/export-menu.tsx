import { toast } from '../parts/dialogs.js'
import { Popover } from '../parts/popover.js'
import type { Audience } from '../state/address.js'
import { addressOf } from '../state/data.js'
import { audiences, envelope, obstacle } from '../state/question.js'
import { t } from '../texts/index.js'
import { savePicture } from './picture.js'

interface ExportMenuProps {
  /** The read to export, as `/api/stats/export.csv` names it. */
  report: string
  metrics?: Readonly<Record<Audience, string>>
  more?: Readonly<Record<string, string>>
  /** Whether the panel has a chart that can be saved as a picture. */
  picture?: boolean
  /** The one readership that has this read. */
  only?: Audience
}

/** Saves what is on screen: numbers, report or picture. */
export function ExportMenu({ report, metrics, more = {}, picture = true, only }: ExportMenuProps) {
  const { parts, shell } = t()
  const link = (format: 'csv' | 'pdf', of: Audience) =>
    addressOf(`/api/stats/export.${format}`, {
      ...envelope(of),
      ...more,
      report,
      ...(metrics ? { metric: metrics[of] } : {}),
    })
  return (
    <Popover menu class="more" button={parts.export}>
      {(close) => (
        <>
          {(only === undefined ? audiences.value : [only])
            .filter((of) => obstacle(of) === undefined)
            .flatMap((of) => [
              <a key={`${of}csv`} href={link('csv', of)} download data-leave onClick={close}>
                {shell.show[of]}: {parts.asCsv}
              </a>,
              <a key={`${of}pdf`} href={link('pdf', of)} download data-leave onClick={close}>
                {shell.show[of]}: {parts.asPdf}
              </a>,
            ])}
          {picture && (
            <button
              type="button"
              onClick={(event) => {
                const chart = event.currentTarget.closest('.cell')?.querySelector('svg.chart')
                close()
                if (chart instanceof SVGSVGElement) void savePicture(chart, report).catch(() => toast(parts.noPicture))
              }}
            >
              {parts.asPng}
            </button>
          )}
        </>
      )}
    </Popover>
  )
}
