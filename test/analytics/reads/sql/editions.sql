/* /api/editions */
select distinct hostname
from sitemap_urls;

/* /api/editions */
select *, count(*) over () as total_rows
from (
  select hostname, pathname, min(title) as title, min(first_seen) as first_seen, min(last_seen) as last_seen,
      min(prior_seen) as prior_seen, max(case when prior_seen is null or varies then 0 else 1 end) as changed,
      max(case when varies then 1 else 0 end) as varying, min(lastmod) as lastmod, min(lastmod_verdict) as lastmod_verdict,
      coalesce(sum(arrivals), 0) as readers, coalesce(sum(case when prior_seen is not null and not varies and operator is not null and (last_read is null or last_read <= prior_seen) then arrivals end), 0) as at_stake
  from (
    select p.hostname as hostname, p.pathname as pathname, title, first_seen, last_seen, prior_seen,
        varies, lastmod, lastmod_verdict, a.operator as operator, arrivals, last_read
    from (
      select p.hostname as hostname, p.pathname as pathname, title, first_seen, last_seen, prior_seen,
          varies, lastmod, case when varies or lastmod is null then null when prior_seen is not null and lastmod < (prior_seen + to_milliseconds(-86400000)) then 'missed' when lastmod > (first_seen + to_milliseconds(86400000)) and lastmod <= last_seen then 'unfounded' else 'agrees' end as lastmod_verdict
      from (
        select hostname, pathname, title, first_seen, last_seen, prior_seen, varies
        from page_samples
        where site_id = 1
          and true
          and first_seen < timestamp '2026-10-26 12:00:00.000'
          and (replaced_at is null or replaced_at >= timestamp '2026-10-26 12:00:00.000')
      ) p
      left join (
        select hostname, pathname, max(lastmod) as lastmod
        from sitemap_urls
        where hostname in ('example.com')
          and true
        group by hostname, pathname
      ) m on m.hostname = p.hostname
        and m.pathname = p.pathname
    ) p
    left join (
      select hostname, pathname, case assistant when 'chatgpt.com' then 'OpenAI' end as operator,
          sum(arrivals) as arrivals
      from (
        select hostname as hostname, pathname as pathname, case when case when timestamp = session_start and pathname = entry_page then case when channel = 'AI Assistants' then true when channel in ('Paid Search', 'Paid Social', 'Paid Video', 'Paid Shopping', 'Paid Other', 'Display', 'Cross-network') then regexp_matches(referrer, '^(?:https?://(?:[^/]*[.])?)?((?:chatgpt[.]com|chat[.]openai[.]com|labs[.]openai[.]com|chat[.]com|claude[.]ai|claude[.]com|gemini[.]google[.]com|bard[.]google[.]com|aistudio[.]google[.]com|notebooklm[.]google[.]com|vertexaisearch[.]cloud[.]google[.]com|gemini[.]google|notebooklm[.]google|ai[.]google|search[.]google[.]com/ai|copilot[.]microsoft[.]com|copilot[.]cloud[.]microsoft|m365[.]cloud[.]microsoft|edgeservices[.]bing[.]com|copilot[.]com|bing[.]com/chat|bing[.]com/copilotsearch|microsoft365[.]com/chat|copilotstudio[.]microsoft[.]com|github[.]com/copilot|perplexity[.]ai|perplexity[.]com|pplx[.]ai|meta[.]ai|chat[.]mistral[.]ai|mistral[.]ai|grok[.]com|x[.]ai|x[.]com/i/grok|you[.]com|duck[.]ai|cursor[.]com|coral[.]cohere[.]com|chat[.]cohere[.]com|manus[.]im|doubao[.]com|chat[.]deepseek[.]com|deepseek[.]com|poe[.]com|pi[.]ai|heypi[.]com|character[.]ai|chat[.]qwen[.]ai|qwen[.]ai|qianwen[.]com|tongyi[.]com|tongyi[.]aliyun[.]com|jasper[.]ai|app[.]jasper[.]ai|writesonic[.]com|chatsonic[.]com|phind[.]com|andi[.]com|andisearch[.]com|codeium[.]com|windsurf[.]com|kimi[.]com|kimi[.]moonshot[.]cn|chat[.]z[.]ai|chatglm[.]cn|z[.]ai|yuanbao[.]tencent[.]com|hunyuan[.]tencent[.]com|ima[.]qq[.]com|genspark[.]ai|t3[.]chat|yiyan[.]baidu[.]com|ai[.]baidu[.]com|chat[.]baidu[.]com|ernie[.]baidu[.]com|iask[.]ai|felo[.]ai|liner[.]com|getliner[.]com|venice[.]ai|elicit[.]com|elicit[.]org|consensus[.]app|huggingface[.]co/chat|hf[.]co/chat|openrouter[.]ai|lumo[.]proton[.]me|kagi[.]com/assistant|chat[.]minimax[.]io|agent[.]minimax[.]io|chat[.]minimaxi[.]com|hailuoai[.]com|hailuoai[.]video|alice[.]yandex[.]ru|giga[.]chat|monica[.]im|sider[.]ai|getmerlin[.]in|lmarena[.]ai|arena[.]ai|blackbox[.]ai|metaso[.]cn|n[.]cn|xinghuo[.]xfyun[.]cn|scispace[.]com|typeset[.]io|euria[.]infomaniak[.]com|luzia[.]com|komo[.]ai|chatplus[.]com|chat-gpt[.]org|zapia[.]com|rufus[.]amazon[.]com|nova[.]amazon[.]com|exa[.]ai|tavily[.]com|scite[.]ai|globe[.]engineer|openevidence[.]com|tiangong[.]cn|dola[.]com|cici[.]com)|android-app://(?:com[.]openai[.]chatgpt|com[.]anthropic[.]claude|com[.]google[.]android[.]apps[.]bard|com[.]google[.]android[.]apps[.]labs[.]language[.]tailwind|com[.]microsoft[.]copilot|com[.]microsoft[.]office[.]officehubrow|ai[.]perplexity[.]app[.]android|com[.]facebook[.]stella|ai[.]mistral[.]chat|ai[.]x[.]grok|tech[.]butterfly[.]app|com[.]larus[.]nova|com[.]deepseek[.]chat|com[.]poe[.]android|ai[.]inflection[.]pi|ai[.]character[.]app|ai[.]qwenlm[.]chat[.]android|com[.]aliyun[.]tongyi|com[.]tongyi[.]intl|com[.]moonshot[.]kimichat|com[.]zhipuai[.]qingyan|com[.]tencent[.]hunyuan[.]app[.]chat|ai[.]mainfunc[.]genspark|ai[.]mainfunc[.]genspark[.]pro|com[.]baidu[.]newapp|me[.]proton[.]android[.]lumo|com[.]minimax[.]ai|com[.]yandex[.]aliceapp|com[.]metaso|com[.]qihoo[.]namiso|com[.]iflytek[.]spark|co[.]thewordlab[.]luzia|com[.]brainlogic[.]zapia))[.]?(?:/|$)') and not regexp_matches(source, '^(?:ChatGPT|Claude|Gemini|Copilot|Perplexity|Meta AI|Le Chat|Grok|You[.]com|Duck[.]ai|Cursor|Coral|Manus|Doubao|DeepSeek|Poe|Pi|Character[.]AI|Qwen|Jasper|Chatsonic|Phind|Andi|Codeium|Kimi|Z[.]ai|Yuanbao|Genspark|T3 Chat|Ernie|iAsk|Felo|Liner|Venice|Elicit|Consensus|HuggingChat|OpenRouter|Lumo|Kagi Assistant|MiniMax|Alice|GigaChat|Monica|Sider|Merlin|Arena|Blackbox AI|Metaso|Nano AI|Spark Desk|SciSpace|Euria|Luzia|Komo|Chat[+]|Zapia|Rufus|Amazon Nova|Exa|Tavily|Scite|Globe Explorer|OpenEvidence|Tiangong|Dola)$') else false end else false end then case when channel = 'AI Assistants' then source else regexp_extract(referrer, '^(?:https?://(?:[^/]*[.])?)?((?:chatgpt[.]com|chat[.]openai[.]com|labs[.]openai[.]com|chat[.]com|claude[.]ai|claude[.]com|gemini[.]google[.]com|bard[.]google[.]com|aistudio[.]google[.]com|notebooklm[.]google[.]com|vertexaisearch[.]cloud[.]google[.]com|gemini[.]google|notebooklm[.]google|ai[.]google|search[.]google[.]com/ai|copilot[.]microsoft[.]com|copilot[.]cloud[.]microsoft|m365[.]cloud[.]microsoft|edgeservices[.]bing[.]com|copilot[.]com|bing[.]com/chat|bing[.]com/copilotsearch|microsoft365[.]com/chat|copilotstudio[.]microsoft[.]com|github[.]com/copilot|perplexity[.]ai|perplexity[.]com|pplx[.]ai|meta[.]ai|chat[.]mistral[.]ai|mistral[.]ai|grok[.]com|x[.]ai|x[.]com/i/grok|you[.]com|duck[.]ai|cursor[.]com|coral[.]cohere[.]com|chat[.]cohere[.]com|manus[.]im|doubao[.]com|chat[.]deepseek[.]com|deepseek[.]com|poe[.]com|pi[.]ai|heypi[.]com|character[.]ai|chat[.]qwen[.]ai|qwen[.]ai|qianwen[.]com|tongyi[.]com|tongyi[.]aliyun[.]com|jasper[.]ai|app[.]jasper[.]ai|writesonic[.]com|chatsonic[.]com|phind[.]com|andi[.]com|andisearch[.]com|codeium[.]com|windsurf[.]com|kimi[.]com|kimi[.]moonshot[.]cn|chat[.]z[.]ai|chatglm[.]cn|z[.]ai|yuanbao[.]tencent[.]com|hunyuan[.]tencent[.]com|ima[.]qq[.]com|genspark[.]ai|t3[.]chat|yiyan[.]baidu[.]com|ai[.]baidu[.]com|chat[.]baidu[.]com|ernie[.]baidu[.]com|iask[.]ai|felo[.]ai|liner[.]com|getliner[.]com|venice[.]ai|elicit[.]com|elicit[.]org|consensus[.]app|huggingface[.]co/chat|hf[.]co/chat|openrouter[.]ai|lumo[.]proton[.]me|kagi[.]com/assistant|chat[.]minimax[.]io|agent[.]minimax[.]io|chat[.]minimaxi[.]com|hailuoai[.]com|hailuoai[.]video|alice[.]yandex[.]ru|giga[.]chat|monica[.]im|sider[.]ai|getmerlin[.]in|lmarena[.]ai|arena[.]ai|blackbox[.]ai|metaso[.]cn|n[.]cn|xinghuo[.]xfyun[.]cn|scispace[.]com|typeset[.]io|euria[.]infomaniak[.]com|luzia[.]com|komo[.]ai|chatplus[.]com|chat-gpt[.]org|zapia[.]com|rufus[.]amazon[.]com|nova[.]amazon[.]com|exa[.]ai|tavily[.]com|scite[.]ai|globe[.]engineer|openevidence[.]com|tiangong[.]cn|dola[.]com|cici[.]com)|android-app://(?:com[.]openai[.]chatgpt|com[.]anthropic[.]claude|com[.]google[.]android[.]apps[.]bard|com[.]google[.]android[.]apps[.]labs[.]language[.]tailwind|com[.]microsoft[.]copilot|com[.]microsoft[.]office[.]officehubrow|ai[.]perplexity[.]app[.]android|com[.]facebook[.]stella|ai[.]mistral[.]chat|ai[.]x[.]grok|tech[.]butterfly[.]app|com[.]larus[.]nova|com[.]deepseek[.]chat|com[.]poe[.]android|ai[.]inflection[.]pi|ai[.]character[.]app|ai[.]qwenlm[.]chat[.]android|com[.]aliyun[.]tongyi|com[.]tongyi[.]intl|com[.]moonshot[.]kimichat|com[.]zhipuai[.]qingyan|com[.]tencent[.]hunyuan[.]app[.]chat|ai[.]mainfunc[.]genspark|ai[.]mainfunc[.]genspark[.]pro|com[.]baidu[.]newapp|me[.]proton[.]android[.]lumo|com[.]minimax[.]ai|com[.]yandex[.]aliceapp|com[.]metaso|com[.]qihoo[.]namiso|com[.]iflytek[.]spark|co[.]thewordlab[.]luzia|com[.]brainlogic[.]zapia))[.]?(?:/|$)', 1) end end as assistant,
            count(distinct session_id) filter (where timestamp = session_start and pathname = entry_page) as arrivals
        from events as e
        where site_id = 1
          and timestamp >= timestamp '2026-10-24 22:00:00.000'
          and timestamp < timestamp '2026-10-26 12:00:00.000'
          and kind = 'pageview'
          and (case when channel = 'AI Assistants' then true when channel in ('Paid Search', 'Paid Social', 'Paid Video', 'Paid Shopping', 'Paid Other', 'Display', 'Cross-network') then regexp_matches(referrer, '^(?:https?://(?:[^/]*[.])?)?((?:chatgpt[.]com|chat[.]openai[.]com|labs[.]openai[.]com|chat[.]com|claude[.]ai|claude[.]com|gemini[.]google[.]com|bard[.]google[.]com|aistudio[.]google[.]com|notebooklm[.]google[.]com|vertexaisearch[.]cloud[.]google[.]com|gemini[.]google|notebooklm[.]google|ai[.]google|search[.]google[.]com/ai|copilot[.]microsoft[.]com|copilot[.]cloud[.]microsoft|m365[.]cloud[.]microsoft|edgeservices[.]bing[.]com|copilot[.]com|bing[.]com/chat|bing[.]com/copilotsearch|microsoft365[.]com/chat|copilotstudio[.]microsoft[.]com|github[.]com/copilot|perplexity[.]ai|perplexity[.]com|pplx[.]ai|meta[.]ai|chat[.]mistral[.]ai|mistral[.]ai|grok[.]com|x[.]ai|x[.]com/i/grok|you[.]com|duck[.]ai|cursor[.]com|coral[.]cohere[.]com|chat[.]cohere[.]com|manus[.]im|doubao[.]com|chat[.]deepseek[.]com|deepseek[.]com|poe[.]com|pi[.]ai|heypi[.]com|character[.]ai|chat[.]qwen[.]ai|qwen[.]ai|qianwen[.]com|tongyi[.]com|tongyi[.]aliyun[.]com|jasper[.]ai|app[.]jasper[.]ai|writesonic[.]com|chatsonic[.]com|phind[.]com|andi[.]com|andisearch[.]com|codeium[.]com|windsurf[.]com|kimi[.]com|kimi[.]moonshot[.]cn|chat[.]z[.]ai|chatglm[.]cn|z[.]ai|yuanbao[.]tencent[.]com|hunyuan[.]tencent[.]com|ima[.]qq[.]com|genspark[.]ai|t3[.]chat|yiyan[.]baidu[.]com|ai[.]baidu[.]com|chat[.]baidu[.]com|ernie[.]baidu[.]com|iask[.]ai|felo[.]ai|liner[.]com|getliner[.]com|venice[.]ai|elicit[.]com|elicit[.]org|consensus[.]app|huggingface[.]co/chat|hf[.]co/chat|openrouter[.]ai|lumo[.]proton[.]me|kagi[.]com/assistant|chat[.]minimax[.]io|agent[.]minimax[.]io|chat[.]minimaxi[.]com|hailuoai[.]com|hailuoai[.]video|alice[.]yandex[.]ru|giga[.]chat|monica[.]im|sider[.]ai|getmerlin[.]in|lmarena[.]ai|arena[.]ai|blackbox[.]ai|metaso[.]cn|n[.]cn|xinghuo[.]xfyun[.]cn|scispace[.]com|typeset[.]io|euria[.]infomaniak[.]com|luzia[.]com|komo[.]ai|chatplus[.]com|chat-gpt[.]org|zapia[.]com|rufus[.]amazon[.]com|nova[.]amazon[.]com|exa[.]ai|tavily[.]com|scite[.]ai|globe[.]engineer|openevidence[.]com|tiangong[.]cn|dola[.]com|cici[.]com)|android-app://(?:com[.]openai[.]chatgpt|com[.]anthropic[.]claude|com[.]google[.]android[.]apps[.]bard|com[.]google[.]android[.]apps[.]labs[.]language[.]tailwind|com[.]microsoft[.]copilot|com[.]microsoft[.]office[.]officehubrow|ai[.]perplexity[.]app[.]android|com[.]facebook[.]stella|ai[.]mistral[.]chat|ai[.]x[.]grok|tech[.]butterfly[.]app|com[.]larus[.]nova|com[.]deepseek[.]chat|com[.]poe[.]android|ai[.]inflection[.]pi|ai[.]character[.]app|ai[.]qwenlm[.]chat[.]android|com[.]aliyun[.]tongyi|com[.]tongyi[.]intl|com[.]moonshot[.]kimichat|com[.]zhipuai[.]qingyan|com[.]tencent[.]hunyuan[.]app[.]chat|ai[.]mainfunc[.]genspark|ai[.]mainfunc[.]genspark[.]pro|com[.]baidu[.]newapp|me[.]proton[.]android[.]lumo|com[.]minimax[.]ai|com[.]yandex[.]aliceapp|com[.]metaso|com[.]qihoo[.]namiso|com[.]iflytek[.]spark|co[.]thewordlab[.]luzia|com[.]brainlogic[.]zapia))[.]?(?:/|$)') and not regexp_matches(source, '^(?:ChatGPT|Claude|Gemini|Copilot|Perplexity|Meta AI|Le Chat|Grok|You[.]com|Duck[.]ai|Cursor|Coral|Manus|Doubao|DeepSeek|Poe|Pi|Character[.]AI|Qwen|Jasper|Chatsonic|Phind|Andi|Codeium|Kimi|Z[.]ai|Yuanbao|Genspark|T3 Chat|Ernie|iAsk|Felo|Liner|Venice|Elicit|Consensus|HuggingChat|OpenRouter|Lumo|Kagi Assistant|MiniMax|Alice|GigaChat|Monica|Sider|Merlin|Arena|Blackbox AI|Metaso|Nano AI|Spark Desk|SciSpace|Euria|Luzia|Komo|Chat[+]|Zapia|Rufus|Amazon Nova|Exa|Tavily|Scite|Globe Explorer|OpenEvidence|Tiangong|Dola)$') else false end)
          and ((country is not null and country in ('US')))
          and true
        group by hostname, pathname, assistant
      ) v
      where arrivals > 0
        and true
      group by hostname, pathname, 3
    ) a on a.hostname = p.hostname
      and a.pathname = p.pathname
    left join (
      select hostname, pathname, operator, max(timestamp) as last_read
      from agent_events
      where site_id = 1
        and timestamp < timestamp '2026-10-26 12:00:00.000'
        and method = 'GET'
        and status in (200, 304)
        and not verification = 'spoofed'
        and coalesce(action, 'allow') = 'allow'
        and coalesce(purpose in ('search', 'assistant'), false)
        and (hostname, pathname) in (
          select hostname, pathname
          from (
            select hostname, pathname, title, first_seen, last_seen, prior_seen, varies
            from page_samples
            where site_id = 1
              and true
              and first_seen < timestamp '2026-10-26 12:00:00.000'
              and (replaced_at is null or replaced_at >= timestamp '2026-10-26 12:00:00.000')
          ) s
        )
        and ((country is not null and country in ('US')))
      group by hostname, pathname, operator
    ) r on r.hostname = a.hostname
      and r.pathname = a.pathname
      and r.operator = a.operator
  ) e
  group by hostname, pathname
) r
order by at_stake desc nulls last, changed desc nulls last, first_seen desc nulls last, hostname nulls last,
    pathname nulls last
limit 10 offset 0;

/* /api/editions */
select agent_id, max(operator) as operator, count(*) as fetches
from agent_events
where site_id = 1
  and timestamp >= timestamp '2026-10-24 22:00:00.000'
  and timestamp < timestamp '2026-10-26 12:00:00.000'
  and is_pageview
  and method = 'GET'
  and status in (200, 304)
  and not verification = 'spoofed'
  and coalesce(action, 'allow') = 'allow'
  and coalesce(purpose not in ('monitor', 'seo'), true)
  and ((country is not null and country in ('US')))
group by agent_id
order by fetches desc, agent_id
limit 30;

/* /api/editions */
select hostname, pathname, agent_id, max(timestamp) as last_read
from agent_events
where site_id = 1
  and timestamp < timestamp '2026-10-26 12:00:00.000'
  and method = 'GET'
  and status in (200, 304)
  and not verification = 'spoofed'
  and coalesce(action, 'allow') = 'allow'
  and (hostname in ('example.com') and pathname in ('/'))
  and agent_id in ('gptbot')
  and ((country is not null and country in ('US')))
group by hostname, pathname, agent_id;

/* /api/editions */
select hostname, pathname, operator, max(timestamp) as last_read
from agent_events
where site_id = 1
  and timestamp < timestamp '2026-10-26 12:00:00.000'
  and method = 'GET'
  and status in (200, 304)
  and not verification = 'spoofed'
  and coalesce(action, 'allow') = 'allow'
  and (hostname in ('example.com') and pathname in ('/'))
  and coalesce(purpose in ('search', 'assistant'), false)
  and ((country is not null and country in ('US')))
group by hostname, pathname, operator;

/* /api/editions */
select hostname, pathname, case assistant when 'chatgpt.com' then 'OpenAI' end as operator,
    sum(arrivals) as arrivals
from (
  select hostname as hostname, pathname as pathname, case when case when timestamp = session_start and pathname = entry_page then case when channel = 'AI Assistants' then true when channel in ('Paid Search', 'Paid Social', 'Paid Video', 'Paid Shopping', 'Paid Other', 'Display', 'Cross-network') then regexp_matches(referrer, '^(?:https?://(?:[^/]*[.])?)?((?:chatgpt[.]com|chat[.]openai[.]com|labs[.]openai[.]com|chat[.]com|claude[.]ai|claude[.]com|gemini[.]google[.]com|bard[.]google[.]com|aistudio[.]google[.]com|notebooklm[.]google[.]com|vertexaisearch[.]cloud[.]google[.]com|gemini[.]google|notebooklm[.]google|ai[.]google|search[.]google[.]com/ai|copilot[.]microsoft[.]com|copilot[.]cloud[.]microsoft|m365[.]cloud[.]microsoft|edgeservices[.]bing[.]com|copilot[.]com|bing[.]com/chat|bing[.]com/copilotsearch|microsoft365[.]com/chat|copilotstudio[.]microsoft[.]com|github[.]com/copilot|perplexity[.]ai|perplexity[.]com|pplx[.]ai|meta[.]ai|chat[.]mistral[.]ai|mistral[.]ai|grok[.]com|x[.]ai|x[.]com/i/grok|you[.]com|duck[.]ai|cursor[.]com|coral[.]cohere[.]com|chat[.]cohere[.]com|manus[.]im|doubao[.]com|chat[.]deepseek[.]com|deepseek[.]com|poe[.]com|pi[.]ai|heypi[.]com|character[.]ai|chat[.]qwen[.]ai|qwen[.]ai|qianwen[.]com|tongyi[.]com|tongyi[.]aliyun[.]com|jasper[.]ai|app[.]jasper[.]ai|writesonic[.]com|chatsonic[.]com|phind[.]com|andi[.]com|andisearch[.]com|codeium[.]com|windsurf[.]com|kimi[.]com|kimi[.]moonshot[.]cn|chat[.]z[.]ai|chatglm[.]cn|z[.]ai|yuanbao[.]tencent[.]com|hunyuan[.]tencent[.]com|ima[.]qq[.]com|genspark[.]ai|t3[.]chat|yiyan[.]baidu[.]com|ai[.]baidu[.]com|chat[.]baidu[.]com|ernie[.]baidu[.]com|iask[.]ai|felo[.]ai|liner[.]com|getliner[.]com|venice[.]ai|elicit[.]com|elicit[.]org|consensus[.]app|huggingface[.]co/chat|hf[.]co/chat|openrouter[.]ai|lumo[.]proton[.]me|kagi[.]com/assistant|chat[.]minimax[.]io|agent[.]minimax[.]io|chat[.]minimaxi[.]com|hailuoai[.]com|hailuoai[.]video|alice[.]yandex[.]ru|giga[.]chat|monica[.]im|sider[.]ai|getmerlin[.]in|lmarena[.]ai|arena[.]ai|blackbox[.]ai|metaso[.]cn|n[.]cn|xinghuo[.]xfyun[.]cn|scispace[.]com|typeset[.]io|euria[.]infomaniak[.]com|luzia[.]com|komo[.]ai|chatplus[.]com|chat-gpt[.]org|zapia[.]com|rufus[.]amazon[.]com|nova[.]amazon[.]com|exa[.]ai|tavily[.]com|scite[.]ai|globe[.]engineer|openevidence[.]com|tiangong[.]cn|dola[.]com|cici[.]com)|android-app://(?:com[.]openai[.]chatgpt|com[.]anthropic[.]claude|com[.]google[.]android[.]apps[.]bard|com[.]google[.]android[.]apps[.]labs[.]language[.]tailwind|com[.]microsoft[.]copilot|com[.]microsoft[.]office[.]officehubrow|ai[.]perplexity[.]app[.]android|com[.]facebook[.]stella|ai[.]mistral[.]chat|ai[.]x[.]grok|tech[.]butterfly[.]app|com[.]larus[.]nova|com[.]deepseek[.]chat|com[.]poe[.]android|ai[.]inflection[.]pi|ai[.]character[.]app|ai[.]qwenlm[.]chat[.]android|com[.]aliyun[.]tongyi|com[.]tongyi[.]intl|com[.]moonshot[.]kimichat|com[.]zhipuai[.]qingyan|com[.]tencent[.]hunyuan[.]app[.]chat|ai[.]mainfunc[.]genspark|ai[.]mainfunc[.]genspark[.]pro|com[.]baidu[.]newapp|me[.]proton[.]android[.]lumo|com[.]minimax[.]ai|com[.]yandex[.]aliceapp|com[.]metaso|com[.]qihoo[.]namiso|com[.]iflytek[.]spark|co[.]thewordlab[.]luzia|com[.]brainlogic[.]zapia))[.]?(?:/|$)') and not regexp_matches(source, '^(?:ChatGPT|Claude|Gemini|Copilot|Perplexity|Meta AI|Le Chat|Grok|You[.]com|Duck[.]ai|Cursor|Coral|Manus|Doubao|DeepSeek|Poe|Pi|Character[.]AI|Qwen|Jasper|Chatsonic|Phind|Andi|Codeium|Kimi|Z[.]ai|Yuanbao|Genspark|T3 Chat|Ernie|iAsk|Felo|Liner|Venice|Elicit|Consensus|HuggingChat|OpenRouter|Lumo|Kagi Assistant|MiniMax|Alice|GigaChat|Monica|Sider|Merlin|Arena|Blackbox AI|Metaso|Nano AI|Spark Desk|SciSpace|Euria|Luzia|Komo|Chat[+]|Zapia|Rufus|Amazon Nova|Exa|Tavily|Scite|Globe Explorer|OpenEvidence|Tiangong|Dola)$') else false end else false end then case when channel = 'AI Assistants' then source else regexp_extract(referrer, '^(?:https?://(?:[^/]*[.])?)?((?:chatgpt[.]com|chat[.]openai[.]com|labs[.]openai[.]com|chat[.]com|claude[.]ai|claude[.]com|gemini[.]google[.]com|bard[.]google[.]com|aistudio[.]google[.]com|notebooklm[.]google[.]com|vertexaisearch[.]cloud[.]google[.]com|gemini[.]google|notebooklm[.]google|ai[.]google|search[.]google[.]com/ai|copilot[.]microsoft[.]com|copilot[.]cloud[.]microsoft|m365[.]cloud[.]microsoft|edgeservices[.]bing[.]com|copilot[.]com|bing[.]com/chat|bing[.]com/copilotsearch|microsoft365[.]com/chat|copilotstudio[.]microsoft[.]com|github[.]com/copilot|perplexity[.]ai|perplexity[.]com|pplx[.]ai|meta[.]ai|chat[.]mistral[.]ai|mistral[.]ai|grok[.]com|x[.]ai|x[.]com/i/grok|you[.]com|duck[.]ai|cursor[.]com|coral[.]cohere[.]com|chat[.]cohere[.]com|manus[.]im|doubao[.]com|chat[.]deepseek[.]com|deepseek[.]com|poe[.]com|pi[.]ai|heypi[.]com|character[.]ai|chat[.]qwen[.]ai|qwen[.]ai|qianwen[.]com|tongyi[.]com|tongyi[.]aliyun[.]com|jasper[.]ai|app[.]jasper[.]ai|writesonic[.]com|chatsonic[.]com|phind[.]com|andi[.]com|andisearch[.]com|codeium[.]com|windsurf[.]com|kimi[.]com|kimi[.]moonshot[.]cn|chat[.]z[.]ai|chatglm[.]cn|z[.]ai|yuanbao[.]tencent[.]com|hunyuan[.]tencent[.]com|ima[.]qq[.]com|genspark[.]ai|t3[.]chat|yiyan[.]baidu[.]com|ai[.]baidu[.]com|chat[.]baidu[.]com|ernie[.]baidu[.]com|iask[.]ai|felo[.]ai|liner[.]com|getliner[.]com|venice[.]ai|elicit[.]com|elicit[.]org|consensus[.]app|huggingface[.]co/chat|hf[.]co/chat|openrouter[.]ai|lumo[.]proton[.]me|kagi[.]com/assistant|chat[.]minimax[.]io|agent[.]minimax[.]io|chat[.]minimaxi[.]com|hailuoai[.]com|hailuoai[.]video|alice[.]yandex[.]ru|giga[.]chat|monica[.]im|sider[.]ai|getmerlin[.]in|lmarena[.]ai|arena[.]ai|blackbox[.]ai|metaso[.]cn|n[.]cn|xinghuo[.]xfyun[.]cn|scispace[.]com|typeset[.]io|euria[.]infomaniak[.]com|luzia[.]com|komo[.]ai|chatplus[.]com|chat-gpt[.]org|zapia[.]com|rufus[.]amazon[.]com|nova[.]amazon[.]com|exa[.]ai|tavily[.]com|scite[.]ai|globe[.]engineer|openevidence[.]com|tiangong[.]cn|dola[.]com|cici[.]com)|android-app://(?:com[.]openai[.]chatgpt|com[.]anthropic[.]claude|com[.]google[.]android[.]apps[.]bard|com[.]google[.]android[.]apps[.]labs[.]language[.]tailwind|com[.]microsoft[.]copilot|com[.]microsoft[.]office[.]officehubrow|ai[.]perplexity[.]app[.]android|com[.]facebook[.]stella|ai[.]mistral[.]chat|ai[.]x[.]grok|tech[.]butterfly[.]app|com[.]larus[.]nova|com[.]deepseek[.]chat|com[.]poe[.]android|ai[.]inflection[.]pi|ai[.]character[.]app|ai[.]qwenlm[.]chat[.]android|com[.]aliyun[.]tongyi|com[.]tongyi[.]intl|com[.]moonshot[.]kimichat|com[.]zhipuai[.]qingyan|com[.]tencent[.]hunyuan[.]app[.]chat|ai[.]mainfunc[.]genspark|ai[.]mainfunc[.]genspark[.]pro|com[.]baidu[.]newapp|me[.]proton[.]android[.]lumo|com[.]minimax[.]ai|com[.]yandex[.]aliceapp|com[.]metaso|com[.]qihoo[.]namiso|com[.]iflytek[.]spark|co[.]thewordlab[.]luzia|com[.]brainlogic[.]zapia))[.]?(?:/|$)', 1) end end as assistant,
      count(distinct session_id) filter (where timestamp = session_start and pathname = entry_page) as arrivals
  from events as e
  where site_id = 1
    and timestamp >= timestamp '2026-10-24 22:00:00.000'
    and timestamp < timestamp '2026-10-26 12:00:00.000'
    and kind = 'pageview'
    and (case when channel = 'AI Assistants' then true when channel in ('Paid Search', 'Paid Social', 'Paid Video', 'Paid Shopping', 'Paid Other', 'Display', 'Cross-network') then regexp_matches(referrer, '^(?:https?://(?:[^/]*[.])?)?((?:chatgpt[.]com|chat[.]openai[.]com|labs[.]openai[.]com|chat[.]com|claude[.]ai|claude[.]com|gemini[.]google[.]com|bard[.]google[.]com|aistudio[.]google[.]com|notebooklm[.]google[.]com|vertexaisearch[.]cloud[.]google[.]com|gemini[.]google|notebooklm[.]google|ai[.]google|search[.]google[.]com/ai|copilot[.]microsoft[.]com|copilot[.]cloud[.]microsoft|m365[.]cloud[.]microsoft|edgeservices[.]bing[.]com|copilot[.]com|bing[.]com/chat|bing[.]com/copilotsearch|microsoft365[.]com/chat|copilotstudio[.]microsoft[.]com|github[.]com/copilot|perplexity[.]ai|perplexity[.]com|pplx[.]ai|meta[.]ai|chat[.]mistral[.]ai|mistral[.]ai|grok[.]com|x[.]ai|x[.]com/i/grok|you[.]com|duck[.]ai|cursor[.]com|coral[.]cohere[.]com|chat[.]cohere[.]com|manus[.]im|doubao[.]com|chat[.]deepseek[.]com|deepseek[.]com|poe[.]com|pi[.]ai|heypi[.]com|character[.]ai|chat[.]qwen[.]ai|qwen[.]ai|qianwen[.]com|tongyi[.]com|tongyi[.]aliyun[.]com|jasper[.]ai|app[.]jasper[.]ai|writesonic[.]com|chatsonic[.]com|phind[.]com|andi[.]com|andisearch[.]com|codeium[.]com|windsurf[.]com|kimi[.]com|kimi[.]moonshot[.]cn|chat[.]z[.]ai|chatglm[.]cn|z[.]ai|yuanbao[.]tencent[.]com|hunyuan[.]tencent[.]com|ima[.]qq[.]com|genspark[.]ai|t3[.]chat|yiyan[.]baidu[.]com|ai[.]baidu[.]com|chat[.]baidu[.]com|ernie[.]baidu[.]com|iask[.]ai|felo[.]ai|liner[.]com|getliner[.]com|venice[.]ai|elicit[.]com|elicit[.]org|consensus[.]app|huggingface[.]co/chat|hf[.]co/chat|openrouter[.]ai|lumo[.]proton[.]me|kagi[.]com/assistant|chat[.]minimax[.]io|agent[.]minimax[.]io|chat[.]minimaxi[.]com|hailuoai[.]com|hailuoai[.]video|alice[.]yandex[.]ru|giga[.]chat|monica[.]im|sider[.]ai|getmerlin[.]in|lmarena[.]ai|arena[.]ai|blackbox[.]ai|metaso[.]cn|n[.]cn|xinghuo[.]xfyun[.]cn|scispace[.]com|typeset[.]io|euria[.]infomaniak[.]com|luzia[.]com|komo[.]ai|chatplus[.]com|chat-gpt[.]org|zapia[.]com|rufus[.]amazon[.]com|nova[.]amazon[.]com|exa[.]ai|tavily[.]com|scite[.]ai|globe[.]engineer|openevidence[.]com|tiangong[.]cn|dola[.]com|cici[.]com)|android-app://(?:com[.]openai[.]chatgpt|com[.]anthropic[.]claude|com[.]google[.]android[.]apps[.]bard|com[.]google[.]android[.]apps[.]labs[.]language[.]tailwind|com[.]microsoft[.]copilot|com[.]microsoft[.]office[.]officehubrow|ai[.]perplexity[.]app[.]android|com[.]facebook[.]stella|ai[.]mistral[.]chat|ai[.]x[.]grok|tech[.]butterfly[.]app|com[.]larus[.]nova|com[.]deepseek[.]chat|com[.]poe[.]android|ai[.]inflection[.]pi|ai[.]character[.]app|ai[.]qwenlm[.]chat[.]android|com[.]aliyun[.]tongyi|com[.]tongyi[.]intl|com[.]moonshot[.]kimichat|com[.]zhipuai[.]qingyan|com[.]tencent[.]hunyuan[.]app[.]chat|ai[.]mainfunc[.]genspark|ai[.]mainfunc[.]genspark[.]pro|com[.]baidu[.]newapp|me[.]proton[.]android[.]lumo|com[.]minimax[.]ai|com[.]yandex[.]aliceapp|com[.]metaso|com[.]qihoo[.]namiso|com[.]iflytek[.]spark|co[.]thewordlab[.]luzia|com[.]brainlogic[.]zapia))[.]?(?:/|$)') and not regexp_matches(source, '^(?:ChatGPT|Claude|Gemini|Copilot|Perplexity|Meta AI|Le Chat|Grok|You[.]com|Duck[.]ai|Cursor|Coral|Manus|Doubao|DeepSeek|Poe|Pi|Character[.]AI|Qwen|Jasper|Chatsonic|Phind|Andi|Codeium|Kimi|Z[.]ai|Yuanbao|Genspark|T3 Chat|Ernie|iAsk|Felo|Liner|Venice|Elicit|Consensus|HuggingChat|OpenRouter|Lumo|Kagi Assistant|MiniMax|Alice|GigaChat|Monica|Sider|Merlin|Arena|Blackbox AI|Metaso|Nano AI|Spark Desk|SciSpace|Euria|Luzia|Komo|Chat[+]|Zapia|Rufus|Amazon Nova|Exa|Tavily|Scite|Globe Explorer|OpenEvidence|Tiangong|Dola)$') else false end)
    and ((country is not null and country in ('US')))
    and true
  group by hostname, pathname, assistant
) v
where arrivals > 0
  and (hostname in ('example.com') and pathname in ('/'))
group by hostname, pathname, 3;
