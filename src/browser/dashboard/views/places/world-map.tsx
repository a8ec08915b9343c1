import { geoEqualEarth, geoPath } from 'd3-geo'
import { feature } from 'topojson-client'
import type { GeometryCollection, Topology } from 'topojson-specification'
import world from 'world-atlas/countries-110m.json'
import type { Audience } from '../../state/address.js'
import { toggleFilter } from '../../state/filters.js'
import { formatCountry, formatShort } from '../../state/format.js'
import { t } from '../../texts/index.js'
import { COUNTRY_CODES } from './country-codes.js'

const [WIDTH, HEIGHT] = [800, 380]
const KOSOVO = 'Kosovo'
const ANTARCTICA = 'AQ'

interface Shape {
  code: string | undefined
  name: string
  path: string
}

/** Draws all countries once: their shapes do not depend on the numbers. */
function drawShapes(): Shape[] {
  const topology = world as unknown as Topology<{ countries: GeometryCollection<{ name: string }> }>
  const { features } = feature(topology, topology.objects.countries)
  const shown = features.filter(({ id }) => COUNTRY_CODES.get(`${id}`) !== ANTARCTICA)
  const projection = geoEqualEarth().fitSize([WIDTH, HEIGHT], { type: 'FeatureCollection', features: shown })
  const path = geoPath(projection).digits(1)
  return shown.map((each) => {
    const { name } = each.properties
    return {
      code: COUNTRY_CODES.get(`${each.id}`) ?? (name === KOSOVO ? 'XK' : undefined),
      name,
      path: path(each) ?? '',
    }
  })
}

let shapes: Shape[] | undefined

/** The opacity of each step. The first differs from a country without readers in light and in dark. */
const STEPS = [0.3, 0.45, 0.6, 0.8, 1]

/** Borders of the steps, logarithmic, because one country often has as much as all others. */
export function borders(most: number): number[] {
  return STEPS.map((_, i) => Math.max(1, Math.ceil(most ** (i / STEPS.length))))
}

interface WorldMapProps {
  of: Audience
  title: string
  /** Readers by alpha-2 code. */
  values: ReadonlyMap<string, number>
  picked: (code: string) => boolean
}

/** A choropleth of one readership on its own scale. The table below it says the same to those who do not see it. */
export default function WorldMap({ of, title, values, picked }: WorldMapProps) {
  shapes ??= drawShapes()
  const texts = t().places
  const steps = borders(Math.max(...values.values(), 1))
  const fill = of === 'human' ? 'var(--people)' : 'var(--agents)'
  const opacity = (value: number) => STEPS[steps.findLastIndex((from) => value >= from)] ?? 0
  return (
    <figure>
      <svg class="chart map" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={texts.mapLabel(title)}>
        {shapes.map(({ code, name, path }) => {
          const value = code === undefined ? 0 : (values.get(code) ?? 0)
          const shown = code === undefined ? name : formatCountry(code)
          return (
            <path
              key={name}
              d={path}
              class={code !== undefined && picked(code) ? 'picked' : ''}
              {...(value > 0 ? { fill, 'fill-opacity': opacity(value) } : {})}
              {...(code !== undefined && value > 0
                ? { onClick: (event: MouseEvent) => toggleFilter('country', code, event.altKey) }
                : {})}
            >
              <title>{`${shown}: ${value > 0 ? formatShort(value) : texts.noReaders}`}</title>
            </path>
          )
        })}
      </svg>
      <figcaption class="map-key">
        {steps.map((from, i) => {
          const to = i === steps.length - 1 ? Math.max(...values.values(), 1) : (steps[i + 1] ?? from) - 1
          if (to < from) return null
          return (
            <span key={from}>
              <svg width="14" height="10" aria-hidden="true">
                <rect width="14" height="10" rx="2" fill={fill} fill-opacity={STEPS[i]} />
              </svg>
              {texts.legend(formatShort(from), formatShort(to))}
            </span>
          )
        })}
      </figcaption>
    </figure>
  )
}
