const words = (text: string): readonly string[] => text.split(/\s+/)

/**
 * Hosts that refer visitors in 2026 and that the lists of npm lack or have under another kind: assistants (as rybbit, Matomo
 * and the operators' pages name them), and hosts that were looked up one by one.
 */
export const KNOWN_HOSTS: Record<string, readonly string[]> = {
  ai: words(`chatgpt.com chat.openai.com labs.openai.com claude.ai gemini.google.com bard.google.com aistudio.google.com
    notebooklm.google.com copilot.microsoft.com copilot.cloud.microsoft m365.cloud.microsoft edgeservices.bing.com
    perplexity.ai meta.ai chat.mistral.ai mistral.ai grok.com you.com duck.ai cursor.com coral.cohere.com manus.im
    doubao.com chat.deepseek.com deepseek.com poe.com pi.ai heypi.com character.ai chat.qwen.ai qwen.ai jasper.ai
    app.jasper.ai writesonic.com chatsonic.com phind.com andi.com codeium.com kimi.com kimi.moonshot.cn chat.z.ai
    chatglm.cn yuanbao.tencent.com genspark.ai t3.chat yiyan.baidu.com ai.baidu.com iask.ai x.com/i/grok x.ai
    hailuoai.com hailuoai.video nova.amazon.com rufus.amazon.com scite.ai exa.ai tavily.com
    explorer.globe.engineer ai.google search.google.com/ai notebooklm.google claude.com ernie.baidu.com`),
  search:
    words(`toutiao.com so.toutiao.com lilo.org search.lilo.org search.virgilio.it givero.com luxxle.com alothome.com
    search.becovi.com websearch.rakuten.co.jp search.rakuten.co.jp`),
  email: words('icloud.com www.icloud.com/mail mail.virgilio.it poczta.wp.pl posteo.de mailbox.org mailfence.com'),
  shopping: words('www.rakuten.co.jp www.idealo.de www.idealo.co.uk item.taobao.com www.taobao.com detail.tmall.com'),
  social: words('band.us v.qq.com'),
}
