import { geoEqualEarth, geoPath } from 'd3-geo'
import { feature } from 'topojson-client'
import type { GeometryCollection, Topology } from 'topojson-specification'
import world from 'world-atlas/countries-110m.json'
import type { Audience } from '../../state/address.js'
import { toggleFilter } from '../../state/filters.js'
import { formatCountry, formatShort } from '../../state/format.js'
import { t } from '../../texts/index.js'

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

/** ISO 3166-1 numeric codes, by which the map names countries, each followed by its alpha-2 code. */
const PAIRS = `
  004AF 008AL 010AQ 012DZ 024AO 031AZ 032AR 036AU 040AT 044BS 050BD 051AM 056BE 064BT 068BO 070BA 072BW 076BR 084BZ 090SB
  096BN 100BG 104MM 108BI 112BY 116KH 120CM 124CA 140CF 144LK 148TD 152CL 156CN 158TW 170CO 178CG 180CD 188CR 191HR 192CU
  196CY 203CZ 204BJ 208DK 214DO 218EC 222SV 226GQ 231ET 232ER 233EE 238FK 242FJ 246FI 250FR 260TF 262DJ 266GA 268GE 270GM
  275PS 276DD 288GH 300GR 304GL 320GT 324GN 328GY 332HT 340HN 348HU 352IS 356IN 360ID 364IR 368IQ 372IE 376IL 380IT 384CI
  388JM 392JP 398KZ 400JO 404KE 408KP 410KR 414KW 417KG 418LA 422LB 426LS 428LV 430LR 434LY 440LT 442LU 450MG 454MW 458MY
  466ML 478MR 484MX 496MN 498MD 499ME 504MA 508MZ 512OM 516NA 524NP 528NL 540NC 548NH 554NZ 558NI 562NE 566NG 578NO 586PK
  591PA 598PG 600PY 604PE 608PH 616PL 620PT 624GW 626TL 630PR 634QA 642RO 643RU 646RW 682SA 686SN 688CS 694SL 703SK 704VD
  705SI 706SO 710ZA 716RH 724ES 728SS 729SD 732EH 740SR 748SZ 752SE 756CH 760SY 762TJ 764TH 768TG 780TT 784AE 788TN 792TR
  795TM 800UG 804UA 807MK 818EG 826GB 834TZ 840US 854BF 858UY 860UZ 862VE 887YD 894ZM`

/** Alpha-2 codes by numeric code: `276` is `DE`. */
const COUNTRY_CODES: ReadonlyMap<string, string> = new Map(
  PAIRS.trim()
    .split(/\s+/)
    .map((pair) => [pair.slice(0, 3), pair.slice(3)]),
)
