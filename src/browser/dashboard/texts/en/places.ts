import { counted } from '../../state/format.js'
import type { Parts } from '../rich-text.js'

export const places = {
  countries: (n: number) => counted(n, 'country', 'countries'),
  people: (countries: unknown, most: unknown, share: string): Parts => [
    'people came from ',
    countries,
    ', most from ',
    most,
    ` (${share})`,
  ],
  agents: (countries: unknown, most: unknown, share: string): Parts => [
    'agents fetched from ',
    countries,
    ', most from ',
    most,
    ` (${share})`,
  ],
  and: '; ',
  none: (when: string): Parts => [when, ' nothing was read from any known place.'],
  map: { human: 'People by country', agent: 'Fetches by country' },
  mapLabel: (title: string) => `Map: ${title}. The table below has the same numbers.`,
  legend: (from: string, to: string) => (from === to ? from : `${from} to ${to}`),
  noReaders: 'none',
  mapFoot: 'Each map has its own scale. Countries too small for the map are in the table. A click filters.',
  mapFootOne: 'Countries too small for the map are in the table. A click filters.',
  countriesTitle: 'Countries',
  regions: 'Regions',
  region: 'Region',
  cities: 'Cities',
  city: 'City',
  noRegions:
    'No row has a region: the data that comes with readership knows countries. Name a file of regions and cities with --geoip.',
  noCities: 'No row has a city. Name a file of regions and cities with --geoip; rows before that stay without one.',
  agentsByCountry: 'Agents are located by country only: their addresses are those of data centres.',
  empty: 'No reader of a known place in this time. Choose a longer time.',
}
