import t from 'tap'
import { ASSISTANTS } from '../../src/capture/assistants.js'
import { parseCampaign } from '../../src/capture/campaign.js'
import { parseLanguage } from '../../src/capture/language.js'
import { attributeVisit } from '../../src/ingest/channel.js'
import { isOwnReferrer, parseReferrer } from '../../src/ingest/referrer.js'
import { sourceOfReferrer } from '../../src/ingest/source.js'

/** Source and channel of a landing with this referrer and this query. */
function arrivalOf(referrer: string, query = ''): [string | null, string] {
  const parsed = parseReferrer(referrer)
  const sender = parsed && sourceOfReferrer(parsed)
  const { source, channel } = attributeVisit(parseCampaign(query), sender)
  return [source?.name ?? null, channel]
}

t.test('source and channel by referrer', async (t) => {
  const rows: [string, string | null, string, string?][] = [
    ['', null, 'Direct'],
    ['https://www.google.com/', 'Google', 'Organic Search'],
    ['https://www.google.de/', 'Google', 'Organic Search', 'any country of a family'],
    ['https://google.co.uk/', 'Google', 'Organic Search', 'with two parts too'],
    ['https://google.evil.example/', 'google.evil.example', 'Referral', 'but nothing below another domain'],
    ['https://notgoogle.com/', 'notgoogle.com', 'Referral', 'a name ends at a dot'],
    ['https://docs.google.com/document/d/1', 'docs.google.com', 'Referral', 'a document is not a search'],
    ['https://mail.google.com/mail/u/0/', 'Gmail', 'Email'],
    ['https://www.bing.com/search?q=x', 'Bing', 'Organic Search'],
    ['https://edgeservices.bing.com/', 'Copilot', 'AI Assistants', 'the nearest entry wins'],
    ['https://duckduckgo.com/', 'DuckDuckGo', 'Organic Search', 'a search engine, though it has an assistant'],
    ['https://www.msn.com/', 'Bing', 'Organic Search', 'this host'],
    ['https://news.msn.com/', 'news.msn.com', 'Referral', 'and none below it'],
    ['https://somebody.wordpress.com/', 'somebody.wordpress.com', 'Referral', 'a blog is not the company'],
    ['https://duck.ai/', 'Duck.ai', 'AI Assistants'],
    ['https://search.yahoo.com/', 'Yahoo!', 'Organic Search'],
    ['https://uk.search.yahoo.com/', 'Yahoo!', 'Organic Search'],
    ['https://yandex.ru/', 'Yandex', 'Organic Search'],
    ['https://www.ecosia.org/', 'Ecosia', 'Organic Search'],
    ['https://chatgpt.com/', 'ChatGPT', 'AI Assistants'],
    ['https://www.perplexity.ai/search/x', 'Perplexity', 'AI Assistants'],
    ['https://gemini.google.com/app', 'Gemini', 'AI Assistants'],
    ['https://x.com/i/grok/share/1', 'Grok', 'AI Assistants', 'told apart by its path'],
    ['https://x.com/someone/status/1', 'X (Twitter)', 'Organic Social'],
    ['https://t.co/abc', 'X (Twitter)', 'Organic Social'],
    ['https://www.reddit.com/', 'Reddit', 'Organic Social'],
    ['https://old.reddit.com/r/x', 'Reddit', 'Organic Social'],
    ['https://news.ycombinator.com/', 'Hacker News', 'Organic Social'],
    ['https://github.com/', 'GitHub', 'Organic Social'],
    ['https://l.facebook.com/', 'Facebook', 'Organic Social'],
    ['https://www.linkedin.com/', 'LinkedIn', 'Organic Social'],
    ['https://www.pinterest.de/', 'Pinterest', 'Organic Social'],
    ['https://www.youtube.com/', 'YouTube', 'Organic Video'],
    ['https://www.amazon.co.uk/dp/1', 'Amazon', 'Organic Shopping'],
    ['https://webmail.host.example/', 'webmail.host.example', 'Email'],
    ['https://en.wikipedia.org/wiki/X', 'Wikipedia', 'Referral'],
    ['https://dev.to/', 'DEV', 'Organic Social'],
    ['android-app://com.google.android.gm/', 'Gmail', 'Email', 'an app is a place too'],
    ['android-app://com.reddit.frontpage/https/www.reddit.com', 'Reddit', 'Organic Social'],
    ['android-app://org.unknown.reader/', 'org.unknown.reader', 'Referral'],
    ['https://checkout.stripe.com/pay/cs_1', null, 'Direct', 'coming back from paying is not an arrival'],
    ['https://accounts.google.com/', null, 'Direct', 'nor is coming back from signing in'],
    // Hosts that other tools count as social, because they search for "x.com", "t.co", "ig.com" anywhere in the name.
    ['https://www.netflix.com/', 'Netflix', 'Organic Video', 'ends in "x.com"'],
    ['https://www.fedex.com/', 'fedex.com', 'Referral', 'ends in "x.com"'],
    ['https://app.box.com/', 'app.box.com', 'Referral', 'ends in "x.com"'],
    ['https://www.dropbox.com/', 'dropbox.com', 'Referral', 'ends in "x.com"'],
    ['https://acme.webex.com/', 'acme.webex.com', 'Referral', 'ends in "x.com"'],
    ['https://www.microsoft.com/', 'microsoft.com', 'Referral', 'holds "t.co"'],
    ['https://www.target.com/', 'target.com', 'Referral', 'holds "t.co"'],
    ['https://www.ft.com/', 'ft.com', 'Referral', 'holds "t.co"'],
    ['https://www.sig.com/', 'sig.com', 'Referral', 'ends in "ig.com"'],
    ['https://xx.com/', 'xx.com', 'Referral', 'ends in "x.com"'],
  ]
  for (const [referrer, source, expected, why] of rows)
    t.strictSame(arrivalOf(referrer), [source, expected], `${why ?? expected}: ${referrer || 'none'}`)
})

const CHATGPT = 'https://chatgpt.com/'
const CLAUDE_APP = 'android-app://com.anthropic.claude/'
const MAIL = 'https://mail.google.com/'

t.test('assistants by their hosts, paths and apps', async (t) => {
  const rows: [string, string][] = [
    ['https://www.perplexity.com/', 'Perplexity'],
    ['https://felo.ai/search/x', 'Felo'],
    ['https://liner.com/', 'Liner'],
    ['https://app.liner.com/', 'Liner'],
    ['https://www.bing.com/copilotsearch?q=x', 'Copilot'],
    ['https://venice.ai/chat', 'Venice'],
    ['https://elicit.com/', 'Elicit'],
    ['https://consensus.app/results/', 'Consensus'],
    ['https://you.com/search?q=x&tbm=youchat', 'You.com'],
    ['https://huggingface.co/chat/', 'HuggingChat'],
    ['https://huggingface.co/chat', 'HuggingChat'],
    ['https://openrouter.ai/chat', 'OpenRouter'],
    ['https://lumo.proton.me/', 'Lumo'],
    ['https://www.bing.com/chat?q=x', 'Copilot'],
    ['https://github.com/copilot', 'Copilot'],
    ['https://kagi.com/assistant', 'Kagi Assistant'],
    ['android-app://com.openai.chatgpt/', 'ChatGPT'],
    ['android-app://com.openai.chatgpt', 'ChatGPT'],
    ['android-app://com.openai.chatgpt/https/example.com/', 'ChatGPT'],
    ['android-app://com.anthropic.claude/', 'Claude'],
    ['android-app://ai.perplexity.app.android/', 'Perplexity'],
    ['android-app://com.google.android.apps.bard/', 'Gemini'],
    ['android-app://com.microsoft.copilot/', 'Copilot'],
    ['android-app://com.deepseek.chat/', 'DeepSeek'],
    ['android-app://ai.x.grok/', 'Grok'],
    ['android-app://com.facebook.stella/', 'Meta AI'],
    ['android-app://ai.mistral.chat/', 'Le Chat'],
    ['android-app://com.moonshot.kimichat/', 'Kimi'],
    ['android-app://com.larus.nova/', 'Doubao'],
    ['android-app://ai.qwenlm.chat.android/', 'Qwen'],
    ['android-app://com.poe.android/', 'Poe'],
    ['https://x.ai/', 'Grok'],
    ['https://hailuoai.com/', 'MiniMax'],
    ['https://hailuoai.video/', 'MiniMax'],
    ['https://claude.com/', 'Claude'],
    ['https://notebooklm.google/', 'Gemini'],
    ['https://ai.google/', 'Gemini'],
    ['https://search.google.com/ai', 'Gemini'],
    ['https://ernie.baidu.com/', 'Ernie'],
    ['https://rufus.amazon.com/', 'Rufus'],
    ['https://nova.amazon.com/', 'Amazon Nova'],
    ['https://exa.ai/search', 'Exa'],
    ['https://app.tavily.com/', 'Tavily'],
    ['https://scite.ai/', 'Scite'],
    ['https://explorer.globe.engineer/', 'Globe Explorer'],
    ['android-app://me.proton.android.lumo/', 'Lumo'],
  ]
  const operators = new Map(ASSISTANTS.map(({ source, operator }) => [source, operator]))
  for (const [referrer, source] of rows) {
    t.strictSame(arrivalOf(referrer), [source, 'AI Assistants'], referrer)
    t.ok(operators.get(source), `${source} has an operator, so the citation gap counts it for one`)
  }
})

t.test('search, mail and social networks by their hosts, paths and apps', async (t) => {
  const rows: [string, string, string, string?][] = [
    ['https://images.google.de/', 'Google', 'Organic Search', 'image search'],
    ['https://news.google.co.uk/', 'Google', 'Organic Search', 'news search of a country'],
    ['https://scholar.google.com.au/', 'Google', 'Organic Search'],
    ['https://www.google.cat/', 'Google', 'Organic Search', 'an ending of three letters'],
    ['https://image.baidu.com/', 'Baidu', 'Organic Search'],
    ['https://tieba.baidu.com/p/1', 'Baidu Tieba', 'Organic Social', 'a forum'],
    ['https://pan.baidu.com/', 'pan.baidu.com', 'Referral', 'stored files'],
    ['https://uk.images.search.yahoo.com/', 'Yahoo!', 'Organic Search'],
    ['https://de.yahoo.com/', 'Yahoo!', 'Organic Search', 'the front page of a country'],
    ['https://finance.yahoo.com/', 'finance.yahoo.com', 'Referral', 'its news are not search'],
    ['https://uk.mail.yahoo.com/', 'Yahoo! Mail', 'Email'],
    ['https://mail.yahoo.co.uk/', 'Yahoo! Mail', 'Email'],
    ['https://images.yandex.ru/', 'Yandex', 'Organic Search'],
    ['https://mail.yandex.kz/', 'Yandex Mail', 'Email'],
    ['https://disk.yandex.ru/', 'disk.yandex.ru', 'Referral'],
    ['https://suche.web.de/', 'WEB.DE Suche', 'Organic Search', 'search'],
    ['https://web.de/', 'WEB.DE', 'Email', 'and mail, at one name'],
    ['https://suche.gmx.net/', 'GMX Suche', 'Organic Search'],
    ['https://navigator-bs.gmx.net/', 'GMX', 'Email'],
    ['https://deref-gmx.net/mail/client/x', 'GMX', 'Email', 'the host through which links leave a mail'],
    ['https://deref-web.de/', 'WEB.DE', 'Email'],
    ['https://deref-other.example/', 'deref-other.example', 'Email', 'so named at other services'],
    ['https://nam12.safelinks.protection.outlook.com/', 'Outlook', 'Email'],
    ['https://outlook.cloud.microsoft/', 'Outlook', 'Email'],
    ['https://inbox.google.com/', 'Gmail', 'Email'],
    ['https://go.mail.ru/', 'Mail.ru Search', 'Organic Search'],
    ['https://e.mail.ru/', 'Mail.ru', 'Email'],
    ['https://news.mail.ru/', 'news.mail.ru', 'Referral', 'news'],
    ['https://my.mail.ru/', 'my.mail.ru', 'Organic Social'],
    ['https://www.orange.fr/webmail/fr_FR/read.html', 'Orange Mail', 'Email', 'told apart by its path'],
    ['https://www.orange.fr/', 'orange.fr', 'Referral'],
    ['https://mail.proton.me/', 'Proton Mail', 'Email'],
    ['https://drive.proton.me/', 'drive.proton.me', 'Referral'],
    ['https://www.zhihu.com/', 'Zhihu', 'Organic Social'],
    ['https://zhuanlan.zhihu.com/p/1', 'Zhihu', 'Organic Social'],
    ['https://www.douyin.com/', 'Douyin', 'Organic Social'],
    ['https://somebody.substack.com/p/x', 'Substack', 'Organic Social', 'a publication within the network'],
    ['https://fosstodon.org/', 'Mastodon', 'Organic Social'],
    ['https://mastodon.example.org/', 'mastodon.example.org', 'Organic Social', 'a server named for what it runs'],
    ['https://lemmy.example.org/', 'lemmy.example.org', 'Organic Social'],
    ['https://search.xfinity.com/', 'search.xfinity.com', 'Organic Search', 'a small engine is its own name'],
    ['https://huggingface.co/', 'huggingface.co', 'Referral', 'models, not the chat'],
    ['https://search.google.com/search-console', 'Google', 'Organic Search', 'not the path of the assistant'],
    ['https://www.toutiao.com/', 'Toutiao', 'Organic Search'],
    ['https://so.toutiao.com/search', 'Toutiao', 'Organic Search'],
    ['https://www.lilo.org/', 'Lilo', 'Organic Search'],
    ['https://search.virgilio.it/', 'Virgilio', 'Organic Search'],
    ['https://mail.virgilio.it/', 'mail.virgilio.it', 'Email', 'mail of a search engine'],
    ['https://www.givero.com/', 'Givero', 'Organic Search'],
    ['https://luxxle.com/', 'Luxxle', 'Organic Search'],
    ['https://search.becovi.com/', 'search.becovi.com', 'Organic Search'],
    ['https://www.alothome.com/', 'alothome.com', 'Organic Search'],
    ['https://websearch.rakuten.co.jp/', 'Rakuten Search', 'Organic Search', 'the search engine'],
    ['https://www.rakuten.co.jp/', 'Rakuten', 'Organic Shopping', 'and the shop'],
    ['https://item.rakuten.co.jp/x/', 'Rakuten', 'Organic Shopping'],
    ['https://www.idealo.de/preisvergleich/x', 'idealo', 'Organic Shopping', 'a comparison of prices'],
    ['https://www.idealo.co.uk/', 'idealo', 'Organic Shopping'],
    ['https://item.taobao.com/', 'Taobao', 'Organic Shopping'],
    ['https://www.icloud.com/mail', 'iCloud Mail', 'Email'],
    ['https://www.icloud.com/', 'iCloud Mail', 'Email', 'browsers send the host only'],
    ['https://band.us/band/1', 'Naver BAND', 'Organic Social'],
    ['https://v.qq.com/x/page/1', 'Tencent Video', 'Organic Video'],
    ['https://poczta.wp.pl/', 'poczta.wp.pl', 'Email', 'mail in other languages'],
    ['https://poczta.onet.pl/', 'poczta.onet.pl', 'Email'],
    ['https://correo.ugr.es/', 'correo.ugr.es', 'Email'],
    ['https://posta.com.tr/', 'posta.com.tr', 'Referral', 'the word as the name itself is a newspaper'],
    ['https://posta.hu/', 'posta.hu', 'Referral', 'or a post office'],
    ['https://posta.rs/', 'posta.rs', 'Referral'],
    ['https://posta.sk/', 'posta.sk', 'Referral'],
    ['https://poczta.pl/', 'poczta.pl', 'Referral'],
    ['https://correo.ca/', 'correo.ca', 'Referral'],
    ['https://correo.com.uy/', 'correo.com.uy', 'Referral'],
    ['https://www.mailbox.org/', 'mailbox.org', 'Email'],
    ['https://huggingface.co/chatbots', 'huggingface.co', 'Referral', 'a path ends at a slash'],
    ['https://github.com/copilot-tools', 'GitHub', 'Organic Social', 'a path ends at a slash'],
    ['android-app://com.google.android.googlequicksearchbox/', 'Google', 'Organic Search'],
    ['android-app://com.baidu.searchbox/', 'Baidu', 'Organic Search'],
    ['android-app://com.microsoft.office.outlook/', 'Outlook', 'Email'],
    ['android-app://de.gmx.mobile.android.mail/', 'GMX', 'Email'],
    ['android-app://com.zhihu.android/', 'Zhihu', 'Organic Social'],
    ['android-app://org.telegram.messenger.web/', 'Telegram', 'Organic Social'],
    ['android-app://com.google.android.youtube/', 'YouTube', 'Organic Video'],
  ]
  for (const [referrer, source, expected, why] of rows)
    t.strictSame(arrivalOf(referrer), [source, expected], `${why ?? expected}: ${referrer}`)
})

t.test('hosts that look like known ones are themselves', async (t) => {
  const rows: [string, string][] = [
    ['https://google.evil.com/', 'google.evil.com'],
    ['https://evilgoogle.com/', 'evilgoogle.com'],
    ['https://google.com.evil.net/', 'google.com.evil.net'],
    ['https://images.google.evil.com/', 'images.google.evil.com'],
    ['https://google/', 'google'],
    ['https://perplexity.ai.evil.net/', 'perplexity.ai.evil.net'],
    ['https://notperplexity.ai/', 'notperplexity.ai'],
    ['https://chatgpt.com.evil.example/', 'chatgpt.com.evil.example'],
    ['https://com.openai.chatgpt/', 'com.openai.chatgpt'],
    ['android-app://chatgpt.com/', 'chatgpt.com'],
    ['android-app://com.openai.chatgpt.evil/', 'com.openai.chatgpt.evil'],
    ['android-app://evil.com.openai.chatgpt/', 'evil.com.openai.chatgpt'],
    ['https://evil.example/huggingface.co/chat', 'evil.example'],
  ]
  for (const [referrer, source] of rows) t.strictSame(arrivalOf(referrer), [source, 'Referral'], referrer)
})

t.test('source and channel by tags', async (t) => {
  const rows: [string, string, string | null, string, string][] = [
    ['utm_source=newsletter&utm_medium=email&utm_campaign=weekly', '', 'newsletter', 'Email', 'by its medium'],
    ['utm_source=newsletter', '', 'newsletter', 'Email', 'by its source'],
    ['utm_source=google&utm_medium=cpc&utm_campaign=brand', '', 'Google', 'Paid Search', 'a search engine, paid'],
    ['utm_source=google', '', 'Google', 'Organic Search', 'the tag alone is not an advertisement'],
    ['utm_source=Google&utm_medium=CPC', '', 'Google', 'Paid Search', 'case does not matter'],
    ['utm_source=adwords', '', 'Google', 'Paid Search', 'a tag that says it was paid'],
    ['utm_source=fb-ads', '', 'Facebook', 'Paid Social', 'a tag that says it was paid'],
    ['utm_source=band', '', 'band', 'Referral', 'a band, not the network of that name'],
    ['utm_source=fb', '', 'Facebook', 'Organic Social', 'a short tag'],
    ['utm_source=ig', '', 'Instagram', 'Organic Social', 'a short tag'],
    ['utm_source=facebook&utm_medium=paid', '', 'Facebook', 'Paid Social', 'a social network, paid'],
    ['utm_source=twitter&utm_medium=social', '', 'X (Twitter)', 'Organic Social', 'by the name of its owner'],
    ['utm_source=youtube&utm_medium=video', '', 'YouTube', 'Organic Video', 'a video site'],
    ['utm_source=youtube&utm_medium=cpv', '', 'YouTube', 'Paid Video', 'a video site, paid'],
    ['utm_source=partner&utm_medium=referral', '', 'partner', 'Referral', 'an unknown source'],
    ['utm_source=partner&utm_medium=cpc', '', 'partner', 'Paid Other', 'paid, place unknown'],
    ['utm_source=partner&utm_medium=banner', '', 'partner', 'Display', 'by its medium'],
    ['utm_source=partner&utm_medium=cpm', '', 'partner', 'Display', 'before Paid Other'],
    ['utm_source=partner&utm_medium=affiliate', '', 'partner', 'Affiliates', 'by its medium'],
    ['utm_source=partner&utm_medium=audio', '', 'partner', 'Audio', 'by its medium'],
    ['utm_source=sms', '', 'sms', 'SMS', 'by its source'],
    ['utm_source=firebase', '', 'firebase', 'Mobile Push Notifications', 'by its source'],
    ['utm_source=app&utm_medium=web-push', '', 'app', 'Mobile Push Notifications', 'by its medium'],
    ['utm_source=x&utm_campaign=global-cross-network', '', 'X (Twitter)', 'Cross-network', 'first of all'],
    ['utm_source=a.example&utm_campaign=summer%20shop', '', 'a.example', 'Organic Shopping', 'a campaign of a shop'],
    ['utm_source=a.example&utm_campaign=workshop', '', 'a.example', 'Referral', 'and none of a workshop'],
    ['utm_source=a.example&utm_campaign=eshop&utm_medium=ppc', '', 'a.example', 'Paid Shopping', 'paid'],
    ['utm_medium=podcpromo&utm_source=a.example', '', 'a.example', 'Referral', '"cp" within a word is not paid'],
    ['utm_medium=google_cpc&utm_source=google', '', 'Google', 'Paid Search', '"cpc" as a word is'],
    ['utm_medium=paid-social&utm_source=mystery', '', 'mystery', 'Paid Other', 'paid, and not known as social'],
    ['utm_medium=social&utm_source=mystery', '', 'mystery', 'Organic Social', 'by its medium'],
    ['utm_source=chatgpt.com', '', 'ChatGPT', 'AI Assistants', 'as its links are tagged'],
    ['utm_source=copilot', '', 'Copilot', 'AI Assistants', 'a tag of an assistant'],
    ['utm_medium=llm&utm_source=mystery', '', 'mystery', 'AI Assistants', 'by its medium'],
    ['utm_source=newsletter&utm_medium=email', MAIL, 'newsletter', 'Email', 'a link in a mail'],
    ['utm_source=newsletter&utm_medium=email', CHATGPT, 'ChatGPT', 'AI Assistants', 'the same link in an answer'],
    ['utm_medium=email', CHATGPT, 'ChatGPT', 'AI Assistants', 'whichever tag the link has'],
    ['utm_source=x&utm_medium=social', CHATGPT, 'ChatGPT', 'AI Assistants', 'a post that an answer cites'],
    ['utm_source=yt&utm_medium=video', CLAUDE_APP, 'Claude', 'AI Assistants', 'a film that an answer cites'],
    ['utm_source=a&utm_campaign=eshop', CHATGPT, 'ChatGPT', 'AI Assistants', 'a shop that an answer cites'],
    ['utm_source=chatgpt.com&utm_medium=email', MAIL, 'ChatGPT', 'AI Assistants', 'the tag names the assistant'],
    ['utm_source=perplexity', CHATGPT, 'ChatGPT', 'AI Assistants', 'of two assistants, the one seen'],
    ['ref=producthunt', CHATGPT, 'ChatGPT', 'AI Assistants', 'ref is a tag too'],
    ['utm_source=chatgpt&utm_medium=cpc', CHATGPT, 'ChatGPT', 'Paid Other', 'an advertisement is not a citation'],
    ['utm_source=chatgpt&utm_medium=display', CHATGPT, 'ChatGPT', 'Display', 'nor is a banner'],
    ['utm_medium=cpc', CHATGPT, 'ChatGPT', 'Paid Other', 'paid, and no tag names another place'],
    ['utm_source=google&utm_medium=cpc', CHATGPT, 'Google', 'Paid Search', 'a paid tag names source and channel'],
    ['utm_source=google&utm_medium=cpc', CLAUDE_APP, 'Google', 'Paid Search', 'whichever assistant it is'],
    ['utm_source=facebook&utm_medium=paid_social', CHATGPT, 'Facebook', 'Paid Social', 'and whichever network'],
    ['utm_source=fb-ads', CHATGPT, 'Facebook', 'Paid Social', 'a source that says it was paid'],
    ['utm_source=youtube&utm_medium=cpv', CHATGPT, 'YouTube', 'Paid Video', 'a film'],
    ['utm_source=partner&utm_medium=ppc', CHATGPT, 'partner', 'Paid Other', 'an unknown network'],
    ['utm_source=partner&utm_medium=banner', CHATGPT, 'partner', 'Display', 'a banner elsewhere'],
    ['utm_source=google&utm_campaign=cross-network', CHATGPT, 'Google', 'Cross-network', 'a campaign of all kinds'],
    ['utm_source=shop&utm_campaign=eshop&utm_medium=cpc', CHATGPT, 'shop', 'Paid Shopping', 'a campaign of a shop'],
    ['gclid=1', CHATGPT, 'ChatGPT', 'AI Assistants', 'an address is shared with its click id'],
    ['msclkid=1', CHATGPT, 'ChatGPT', 'AI Assistants', 'of either network'],
    ['gclid=1&utm_medium=cpc', CHATGPT, 'Google', 'Paid Search', 'the tags say paid, the click id by whom'],
    ['gclid=1&utm_source=google', CHATGPT, 'Google', 'Paid Search', 'the tags name the network'],
    ['dclid=1', CHATGPT, 'Google', 'Display', 'the click id of a banner'],
    ['utm_source=newsletter&utm_medium=email&gclid=1', CHATGPT, 'ChatGPT', 'AI Assistants', 'the tags are not paid'],
    ['utm_source=google&utm_medium=organic', CHATGPT, 'ChatGPT', 'AI Assistants', 'a search that was not paid'],
    ['utm_source=mystery&utm_medium=organic', '', 'mystery', 'Organic Search', 'an unknown engine'],
    ['utm_medium=Organic', '', null, 'Organic Search', 'without its name'],
    ['utm_medium=organic', 'https://blog.example/', 'blog.example', 'Organic Search', 'the tag outranks the referrer'],
    ['utm_source=facebook&utm_medium=organic', '', 'Facebook', 'Organic Social', 'a network stays one'],
    ['utm_source=a&utm_medium=organic_post', '', 'a', 'Referral', 'another word'],
    ['dclid=1', '', 'Google', 'Display', 'the click id of a banner'],
    ['dclid=1', 'https://news.example/', 'news.example', 'Display', 'on the page that showed it'],
    ['dclid=1&gclid=1', '', 'Google', 'Paid Search', 'a click id of search is the more exact one'],
    ['gclid=1&dclid=1', '', 'Google', 'Paid Search', 'in either order'],
    ['dclid=1&utm_source=google&utm_medium=cpc', '', 'Google', 'Paid Search', 'tags are more exact'],
    ['utm_medium=ai&utm_source=google', '', 'Google', 'AI Assistants', 'by its medium'],
    ['ref=producthunt', '', 'Product Hunt', 'Organic Social', 'ref stands in for utm_source'],
    ['source=www.example.org', '', 'www.example.org', 'Referral', 'so does source'],
    ['utm_source=a&source=b&ref=c', '', 'a', 'Referral', 'in this order'],
    ['gclid=1', 'https://www.google.com/', 'Google', 'Paid Search', 'a click id of that network'],
    ['gclid=1', '', 'Google', 'Paid Search', 'which also names it'],
    ['msclkid=1', 'https://www.bing.com/', 'Bing', 'Paid Search', 'a click id of that network'],
    ['msclkid=1', 'https://www.google.com/', 'Google', 'Organic Search', 'and of no other'],
    ['utm_medium=cpc', '', null, 'Paid Other', 'paid, by whom is not known'],
    ['utm_campaign=x', '', null, 'Direct', 'a campaign names no place'],
    ['utm_source=stripe', '', 'stripe', 'Referral', 'a tag is an intention, also of who is ignored'],
    ['utm_source=constructor&utm_medium=__proto__', '', 'constructor', 'Referral', 'no word is a key of anything'],
  ]
  for (const [query, referrer, source, expected, why] of rows)
    t.strictSame(arrivalOf(referrer, query), [source, expected], `${why}: ${query}`)
})

t.test('reads campaigns from the query as sent', async (t) => {
  const rows: [string, Record<string, string | null>, string][] = [
    ['utm_source=a&utm_source=b', { utm_source: 'a' }, 'the first counts'],
    ['utm_source=&utm_source=b', { utm_source: 'b' }, 'an empty one is none'],
    ['utm_term=web+analytics', { utm_term: 'web analytics' }, 'a plus is a space'],
    ['utm_term=c%2B%2B', { utm_term: 'c++' }, 'decoded once'],
    ['utm_term=%2525', { utm_term: '%25' }, 'and not twice'],
    ['utm_term=100%', { utm_term: '100%' }, 'a malformed escape stands'],
    ['utm_term=%ff%fe', { utm_term: '%ff%fe' }, 'so do bytes that are not text'],
    ['utm_campaign=%E2%98%83', { utm_campaign: '☃' }, 'UTF-8'],
    ['UTM_Source=a', { utm_source: 'a' }, 'case of the key does not matter'],
    ['utm%5Fsource=a', { utm_source: 'a' }, 'nor its encoding'],
    ['x=utm_source=a', { utm_source: null }, 'a value is not a key'],
    ['&&=&utm_source&utm_medium=m', { utm_source: null, utm_medium: 'm' }, 'empty parts around it'],
    [`utm_source=${'a'.repeat(700)}`, { utm_source: 'a'.repeat(500) }, 'at most 500 characters'],
    [`${'&'.repeat(100_000)}utm_source=a`, { utm_source: null }, 'not beyond 8192 characters'],
  ]
  for (const [query, expected, why] of rows) t.match(parseCampaign(query), expected, why)
})

t.test('strips private parts from referrers', async (t) => {
  const rows: [string | undefined, string | undefined, string][] = [
    ['https://a.example/x?token=1#y', 'https://a.example/x', 'query and fragment go'],
    ['https://user:secret@a.example:8443/x', 'https://a.example/x', 'credentials and port go'],
    ['HTTPS://WWW.A.Example', 'https://www.a.example/', 'host and scheme in lower case'],
    ['https://a.example?x=1', 'https://a.example/', 'no path'],
    ['https://good.example\\@evil.example/', 'https://good.example/', 'read as browsers do'],
    ['android-app://com.example.app/', 'android-app://com.example.app/', 'an app'],
    ['javascript://a.example/%0aalert(1)', undefined, 'not of the web'],
    ['/relative', undefined, 'no address'],
    ['https:///x', undefined, 'no host'],
    ['https://a<b>.example/', undefined, 'no host has such characters'],
    ['about:blank', undefined, 'nowhere'],
    ['', undefined, 'none'],
    [undefined, undefined, 'none'],
    [`https://a.example/${'x'.repeat(5000)}`, `https://a.example/${'x'.repeat(1982)}`, 'at most 2000 characters'],
  ]
  for (const [header, expected, why] of rows) t.equal(parseReferrer(header)?.url, expected, why)
})

t.test('the site itself is not a source', async (t) => {
  const rows: [string, string, string[], boolean, string][] = [
    ['https://a.example/x', 'a.example', [], true, 'the same host'],
    ['https://www.a.example/x', 'a.example', [], true, 'with www'],
    ['https://a.example/x', 'www.a.example', [], true, 'without www'],
    ['https://shop.a.example/', 'a.example', ['a.example', 'shop.a.example'], true, 'another host of the site'],
    ['https://shop.a.example/', 'a.example', ['a.example'], false, 'a hostname of another owner'],
    ['https://nota.example/', 'a.example', ['a.example'], false, 'a longer name'],
    ['http://localhost:3000/', 'a.example', [], true, 'the visitor’s own machine'],
    ['http://[::1]:3000/', 'a.example', [], true, 'the visitor’s own machine'],
  ]
  for (const [header, hostname, domains, expected, why] of rows) {
    const referrer = parseReferrer(header)
    t.equal(referrer && isOwnReferrer(referrer, hostname, domains), expected, why)
  }
})

t.test('reads the first language of Accept-Language', async (t) => {
  const rows: [string | undefined, string | null, string][] = [
    ['de-DE,de;q=0.9,en;q=0.8', 'de-DE', 'the first'],
    ['en', 'en', 'alone'],
    ['EN-us;q=0.5', 'en-US', 'written as BCP 47 writes it'],
    ['zh-hant-tw', 'zh-Hant-TW', 'with a script'],
    ['es-419', 'es-419', 'with a region in digits'],
    ['de-DE-1996', 'de-DE', 'variants go'],
    ['*', null, 'a wildcard names none'],
    ['x'.repeat(9000), null, 'not a language'],
    ["de'; drop table events", null, 'not a language'],
    ['', null, 'none'],
    [undefined, null, 'none'],
  ]
  for (const [header, expected, why] of rows) t.equal(parseLanguage(header), expected, why)
})
