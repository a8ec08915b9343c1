/** Speeds of the five tidal constituents in degrees per hour. */
const [M2, S2, N2, K1, O1] = [28.9841, 30, 28.4397, 15.0411, 13.943] as const

interface Station {
  name: string
  /** Metres from chart datum to mean sea level. */
  mean: number
  /** [speed in degrees an hour, amplitude in metres, phase in degrees] */
  waves: readonly (readonly [number, number, number])[]
}

const wave = (speed: number, amplitude: number, phase: number) => [speed, amplitude, phase] as const
const waves = (size: number, phase: number) => [
  wave(M2, size, phase),
  wave(S2, size * 0.32, phase + 44),
  wave(N2, size * 0.19, phase - 21),
  wave(K1, 0.09, phase + 163),
  wave(O1, 0.07, phase + 119),
]

export const STATIONS: ReadonlyMap<string, Station> = new Map([
  ['ostrand', { name: 'Ostrand', mean: 2.1, waves: waves(1.42, 211) }],
  ['fennick-sound', { name: 'Fennick Sound', mean: 1.7, waves: waves(1.1, 238) }],
  ['the-skerry', { name: 'The Skerry', mean: 2.4, waves: waves(1.61, 203) }],
])

/** Returns metres above chart datum at an instant (epoch ms). The harbours are invented; the arithmetic is real. */
export function height(station: Station, at: number): number {
  const hours = at / 3_600_000
  return station.waves.reduce(
    (sum, [speed, amplitude, phase]) => sum + amplitude * Math.cos(((speed * hours - phase) * Math.PI) / 180),
    station.mean,
  )
}

interface Extreme {
  at: string
  kind: 'high' | 'low'
  height: number
}

/** Returns high and low waters in [from, to): the turning points of the curve, sampled every six minutes. */
export function extremes(station: Station, from: number, to: number): Extreme[] {
  const step = 360_000
  const highsAndLows: Extreme[] = []
  for (let at = Math.ceil(from / step) * step; at < to; at += step) {
    const here = height(station, at)
    const rising = here > height(station, at - step)
    if (rising === height(station, at + step) > here) continue
    highsAndLows.push({
      at: new Date(at).toISOString(),
      kind: rising ? 'high' : 'low',
      height: Math.round(here * 100) / 100,
    })
  }
  return highsAndLows
}
