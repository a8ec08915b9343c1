/* /api/bill */
select operator, fate, agent_id, purpose, severity, count(*) as fetches, sum(bytes) as size,
    sum(duration_ms) as ms, sum(case when coalesce(bytes, 0) = 0 and method = 'GET' and status in (200, 206) then 1 else 0 end) as without_bytes,
    sum(case when coalesce(duration_ms, 0) = 0 then 1 else 0 end) as without_duration
from (
  select operator, agent_id, purpose, bytes, duration_ms, method, status, case when (action is not null and action <> 'allow') then 'refused' when verification <> 'spoofed' then 'charged' else 'spoofed' end as fate,
      case when not robots_allowed then case when grace then 'grace' when verified is null or not verified then 'unverified' when false then 'breach' when false then 'unbound' else 'unclear' end end as severity,
      (((epoch_ms(timestamp) + (case when timestamp < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end)) // 86400000) * 86400000) as bucket
  from (
    select *, robots_grace is not null
      and robots_grace as grace
    from agent_events
    where site_id = 1
      and timestamp >= timestamp '2026-10-24 22:00:00.000'
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and ((country is not null and country in ('US')))
  ) g
) f
group by operator, fate, agent_id, purpose, severity
order by size desc nulls last, operator, fate, agent_id, purpose, severity;

/* /api/bill */
select sender, count(*) as n
from (
  select session_id, sender
  from (
    select session_id, coalesce(case when case when timestamp = session_start and pathname = entry_page then case when channel = 'AI Assistants' then true when channel in ('Paid Search', 'Paid Social', 'Paid Video', 'Paid Shopping', 'Paid Other', 'Display', 'Cross-network') then regexp_matches(referrer, '^(?:https?://(?:[^/]*[.])?)?((?:chatgpt[.]com|chat[.]openai[.]com|labs[.]openai[.]com|chat[.]com|claude[.]ai|claude[.]com|gemini[.]google[.]com|bard[.]google[.]com|aistudio[.]google[.]com|notebooklm[.]google[.]com|vertexaisearch[.]cloud[.]google[.]com|gemini[.]google|notebooklm[.]google|ai[.]google|search[.]google[.]com/ai|copilot[.]microsoft[.]com|copilot[.]cloud[.]microsoft|m365[.]cloud[.]microsoft|edgeservices[.]bing[.]com|copilot[.]com|bing[.]com/chat|bing[.]com/copilotsearch|microsoft365[.]com/chat|copilotstudio[.]microsoft[.]com|github[.]com/copilot|perplexity[.]ai|perplexity[.]com|pplx[.]ai|meta[.]ai|chat[.]mistral[.]ai|mistral[.]ai|grok[.]com|x[.]ai|x[.]com/i/grok|you[.]com|duck[.]ai|cursor[.]com|coral[.]cohere[.]com|chat[.]cohere[.]com|manus[.]im|doubao[.]com|chat[.]deepseek[.]com|deepseek[.]com|poe[.]com|pi[.]ai|heypi[.]com|character[.]ai|chat[.]qwen[.]ai|qwen[.]ai|qianwen[.]com|tongyi[.]com|tongyi[.]aliyun[.]com|jasper[.]ai|app[.]jasper[.]ai|writesonic[.]com|chatsonic[.]com|phind[.]com|andi[.]com|andisearch[.]com|codeium[.]com|windsurf[.]com|kimi[.]com|kimi[.]moonshot[.]cn|chat[.]z[.]ai|chatglm[.]cn|z[.]ai|yuanbao[.]tencent[.]com|hunyuan[.]tencent[.]com|ima[.]qq[.]com|genspark[.]ai|t3[.]chat|yiyan[.]baidu[.]com|ai[.]baidu[.]com|chat[.]baidu[.]com|ernie[.]baidu[.]com|iask[.]ai|felo[.]ai|liner[.]com|getliner[.]com|venice[.]ai|elicit[.]com|elicit[.]org|consensus[.]app|huggingface[.]co/chat|hf[.]co/chat|openrouter[.]ai|lumo[.]proton[.]me|kagi[.]com/assistant|chat[.]minimax[.]io|agent[.]minimax[.]io|chat[.]minimaxi[.]com|hailuoai[.]com|hailuoai[.]video|alice[.]yandex[.]ru|giga[.]chat|monica[.]im|sider[.]ai|getmerlin[.]in|lmarena[.]ai|arena[.]ai|blackbox[.]ai|metaso[.]cn|n[.]cn|xinghuo[.]xfyun[.]cn|scispace[.]com|typeset[.]io|euria[.]infomaniak[.]com|luzia[.]com|komo[.]ai|chatplus[.]com|chat-gpt[.]org|zapia[.]com|rufus[.]amazon[.]com|nova[.]amazon[.]com|exa[.]ai|tavily[.]com|scite[.]ai|globe[.]engineer|openevidence[.]com|tiangong[.]cn|dola[.]com|cici[.]com)|android-app://(?:com[.]openai[.]chatgpt|com[.]anthropic[.]claude|com[.]google[.]android[.]apps[.]bard|com[.]google[.]android[.]apps[.]labs[.]language[.]tailwind|com[.]microsoft[.]copilot|com[.]microsoft[.]office[.]officehubrow|ai[.]perplexity[.]app[.]android|com[.]facebook[.]stella|ai[.]mistral[.]chat|ai[.]x[.]grok|tech[.]butterfly[.]app|com[.]larus[.]nova|com[.]deepseek[.]chat|com[.]poe[.]android|ai[.]inflection[.]pi|ai[.]character[.]app|ai[.]qwenlm[.]chat[.]android|com[.]aliyun[.]tongyi|com[.]tongyi[.]intl|com[.]moonshot[.]kimichat|com[.]zhipuai[.]qingyan|com[.]tencent[.]hunyuan[.]app[.]chat|ai[.]mainfunc[.]genspark|ai[.]mainfunc[.]genspark[.]pro|com[.]baidu[.]newapp|me[.]proton[.]android[.]lumo|com[.]minimax[.]ai|com[.]yandex[.]aliceapp|com[.]metaso|com[.]qihoo[.]namiso|com[.]iflytek[.]spark|co[.]thewordlab[.]luzia|com[.]brainlogic[.]zapia))[.]?(?:/|$)') and not regexp_matches(source, '^(?:ChatGPT|Claude|Gemini|Copilot|Perplexity|Meta AI|Le Chat|Grok|You[.]com|Duck[.]ai|Cursor|Coral|Manus|Doubao|DeepSeek|Poe|Pi|Character[.]AI|Qwen|Jasper|Chatsonic|Phind|Andi|Codeium|Kimi|Z[.]ai|Yuanbao|Genspark|T3 Chat|Ernie|iAsk|Felo|Liner|Venice|Elicit|Consensus|HuggingChat|OpenRouter|Lumo|Kagi Assistant|MiniMax|Alice|GigaChat|Monica|Sider|Merlin|Arena|Blackbox AI|Metaso|Nano AI|Spark Desk|SciSpace|Euria|Luzia|Komo|Chat[+]|Zapia|Rufus|Amazon Nova|Exa|Tavily|Scite|Globe Explorer|OpenEvidence|Tiangong|Dola)$') else false end else false end then case when channel = 'AI Assistants' then source else regexp_extract(referrer, '^(?:https?://(?:[^/]*[.])?)?((?:chatgpt[.]com|chat[.]openai[.]com|labs[.]openai[.]com|chat[.]com|claude[.]ai|claude[.]com|gemini[.]google[.]com|bard[.]google[.]com|aistudio[.]google[.]com|notebooklm[.]google[.]com|vertexaisearch[.]cloud[.]google[.]com|gemini[.]google|notebooklm[.]google|ai[.]google|search[.]google[.]com/ai|copilot[.]microsoft[.]com|copilot[.]cloud[.]microsoft|m365[.]cloud[.]microsoft|edgeservices[.]bing[.]com|copilot[.]com|bing[.]com/chat|bing[.]com/copilotsearch|microsoft365[.]com/chat|copilotstudio[.]microsoft[.]com|github[.]com/copilot|perplexity[.]ai|perplexity[.]com|pplx[.]ai|meta[.]ai|chat[.]mistral[.]ai|mistral[.]ai|grok[.]com|x[.]ai|x[.]com/i/grok|you[.]com|duck[.]ai|cursor[.]com|coral[.]cohere[.]com|chat[.]cohere[.]com|manus[.]im|doubao[.]com|chat[.]deepseek[.]com|deepseek[.]com|poe[.]com|pi[.]ai|heypi[.]com|character[.]ai|chat[.]qwen[.]ai|qwen[.]ai|qianwen[.]com|tongyi[.]com|tongyi[.]aliyun[.]com|jasper[.]ai|app[.]jasper[.]ai|writesonic[.]com|chatsonic[.]com|phind[.]com|andi[.]com|andisearch[.]com|codeium[.]com|windsurf[.]com|kimi[.]com|kimi[.]moonshot[.]cn|chat[.]z[.]ai|chatglm[.]cn|z[.]ai|yuanbao[.]tencent[.]com|hunyuan[.]tencent[.]com|ima[.]qq[.]com|genspark[.]ai|t3[.]chat|yiyan[.]baidu[.]com|ai[.]baidu[.]com|chat[.]baidu[.]com|ernie[.]baidu[.]com|iask[.]ai|felo[.]ai|liner[.]com|getliner[.]com|venice[.]ai|elicit[.]com|elicit[.]org|consensus[.]app|huggingface[.]co/chat|hf[.]co/chat|openrouter[.]ai|lumo[.]proton[.]me|kagi[.]com/assistant|chat[.]minimax[.]io|agent[.]minimax[.]io|chat[.]minimaxi[.]com|hailuoai[.]com|hailuoai[.]video|alice[.]yandex[.]ru|giga[.]chat|monica[.]im|sider[.]ai|getmerlin[.]in|lmarena[.]ai|arena[.]ai|blackbox[.]ai|metaso[.]cn|n[.]cn|xinghuo[.]xfyun[.]cn|scispace[.]com|typeset[.]io|euria[.]infomaniak[.]com|luzia[.]com|komo[.]ai|chatplus[.]com|chat-gpt[.]org|zapia[.]com|rufus[.]amazon[.]com|nova[.]amazon[.]com|exa[.]ai|tavily[.]com|scite[.]ai|globe[.]engineer|openevidence[.]com|tiangong[.]cn|dola[.]com|cici[.]com)|android-app://(?:com[.]openai[.]chatgpt|com[.]anthropic[.]claude|com[.]google[.]android[.]apps[.]bard|com[.]google[.]android[.]apps[.]labs[.]language[.]tailwind|com[.]microsoft[.]copilot|com[.]microsoft[.]office[.]officehubrow|ai[.]perplexity[.]app[.]android|com[.]facebook[.]stella|ai[.]mistral[.]chat|ai[.]x[.]grok|tech[.]butterfly[.]app|com[.]larus[.]nova|com[.]deepseek[.]chat|com[.]poe[.]android|ai[.]inflection[.]pi|ai[.]character[.]app|ai[.]qwenlm[.]chat[.]android|com[.]aliyun[.]tongyi|com[.]tongyi[.]intl|com[.]moonshot[.]kimichat|com[.]zhipuai[.]qingyan|com[.]tencent[.]hunyuan[.]app[.]chat|ai[.]mainfunc[.]genspark|ai[.]mainfunc[.]genspark[.]pro|com[.]baidu[.]newapp|me[.]proton[.]android[.]lumo|com[.]minimax[.]ai|com[.]yandex[.]aliceapp|com[.]metaso|com[.]qihoo[.]namiso|com[.]iflytek[.]spark|co[.]thewordlab[.]luzia|com[.]brainlogic[.]zapia))[.]?(?:/|$)', 1) end end, case when channel = 'Organic Search' then source end) as sender
    from events as e
    where site_id = 1
      and timestamp >= timestamp '2026-10-24 22:00:00.000'
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and ((country is not null and country in ('US')))
      and kind = 'pageview'
      and timestamp = session_start
      and pathname = entry_page
  ) v
  where sender in ('chatgpt.com', 'Google', 'Bing', 'Yahoo!', 'DuckDuckGo', 'Qwant', 'Brave Search', 'Kagi', 'Mojeek', 'Presearch', 'Marginalia', 'Baidu', '360 Search', 'Sogou', 'Naver', 'Daum', 'Yandex', 'Mail.ru Search', 'Seznam', 'Exalead', 'Shenma', 'Cốc Cốc', 'Petal Search', 'Stract', 'Toutiao', 'Freespoke')
  group by session_id, sender
) a
group by sender;

/* /api/bill */
select sender, count(*) as n
from (
  select session_id, sender
  from (
    select session_id, coalesce(case when case when timestamp = session_start and pathname = entry_page then case when channel = 'AI Assistants' then true when channel in ('Paid Search', 'Paid Social', 'Paid Video', 'Paid Shopping', 'Paid Other', 'Display', 'Cross-network') then regexp_matches(referrer, '^(?:https?://(?:[^/]*[.])?)?((?:chatgpt[.]com|chat[.]openai[.]com|labs[.]openai[.]com|chat[.]com|claude[.]ai|claude[.]com|gemini[.]google[.]com|bard[.]google[.]com|aistudio[.]google[.]com|notebooklm[.]google[.]com|vertexaisearch[.]cloud[.]google[.]com|gemini[.]google|notebooklm[.]google|ai[.]google|search[.]google[.]com/ai|copilot[.]microsoft[.]com|copilot[.]cloud[.]microsoft|m365[.]cloud[.]microsoft|edgeservices[.]bing[.]com|copilot[.]com|bing[.]com/chat|bing[.]com/copilotsearch|microsoft365[.]com/chat|copilotstudio[.]microsoft[.]com|github[.]com/copilot|perplexity[.]ai|perplexity[.]com|pplx[.]ai|meta[.]ai|chat[.]mistral[.]ai|mistral[.]ai|grok[.]com|x[.]ai|x[.]com/i/grok|you[.]com|duck[.]ai|cursor[.]com|coral[.]cohere[.]com|chat[.]cohere[.]com|manus[.]im|doubao[.]com|chat[.]deepseek[.]com|deepseek[.]com|poe[.]com|pi[.]ai|heypi[.]com|character[.]ai|chat[.]qwen[.]ai|qwen[.]ai|qianwen[.]com|tongyi[.]com|tongyi[.]aliyun[.]com|jasper[.]ai|app[.]jasper[.]ai|writesonic[.]com|chatsonic[.]com|phind[.]com|andi[.]com|andisearch[.]com|codeium[.]com|windsurf[.]com|kimi[.]com|kimi[.]moonshot[.]cn|chat[.]z[.]ai|chatglm[.]cn|z[.]ai|yuanbao[.]tencent[.]com|hunyuan[.]tencent[.]com|ima[.]qq[.]com|genspark[.]ai|t3[.]chat|yiyan[.]baidu[.]com|ai[.]baidu[.]com|chat[.]baidu[.]com|ernie[.]baidu[.]com|iask[.]ai|felo[.]ai|liner[.]com|getliner[.]com|venice[.]ai|elicit[.]com|elicit[.]org|consensus[.]app|huggingface[.]co/chat|hf[.]co/chat|openrouter[.]ai|lumo[.]proton[.]me|kagi[.]com/assistant|chat[.]minimax[.]io|agent[.]minimax[.]io|chat[.]minimaxi[.]com|hailuoai[.]com|hailuoai[.]video|alice[.]yandex[.]ru|giga[.]chat|monica[.]im|sider[.]ai|getmerlin[.]in|lmarena[.]ai|arena[.]ai|blackbox[.]ai|metaso[.]cn|n[.]cn|xinghuo[.]xfyun[.]cn|scispace[.]com|typeset[.]io|euria[.]infomaniak[.]com|luzia[.]com|komo[.]ai|chatplus[.]com|chat-gpt[.]org|zapia[.]com|rufus[.]amazon[.]com|nova[.]amazon[.]com|exa[.]ai|tavily[.]com|scite[.]ai|globe[.]engineer|openevidence[.]com|tiangong[.]cn|dola[.]com|cici[.]com)|android-app://(?:com[.]openai[.]chatgpt|com[.]anthropic[.]claude|com[.]google[.]android[.]apps[.]bard|com[.]google[.]android[.]apps[.]labs[.]language[.]tailwind|com[.]microsoft[.]copilot|com[.]microsoft[.]office[.]officehubrow|ai[.]perplexity[.]app[.]android|com[.]facebook[.]stella|ai[.]mistral[.]chat|ai[.]x[.]grok|tech[.]butterfly[.]app|com[.]larus[.]nova|com[.]deepseek[.]chat|com[.]poe[.]android|ai[.]inflection[.]pi|ai[.]character[.]app|ai[.]qwenlm[.]chat[.]android|com[.]aliyun[.]tongyi|com[.]tongyi[.]intl|com[.]moonshot[.]kimichat|com[.]zhipuai[.]qingyan|com[.]tencent[.]hunyuan[.]app[.]chat|ai[.]mainfunc[.]genspark|ai[.]mainfunc[.]genspark[.]pro|com[.]baidu[.]newapp|me[.]proton[.]android[.]lumo|com[.]minimax[.]ai|com[.]yandex[.]aliceapp|com[.]metaso|com[.]qihoo[.]namiso|com[.]iflytek[.]spark|co[.]thewordlab[.]luzia|com[.]brainlogic[.]zapia))[.]?(?:/|$)') and not regexp_matches(source, '^(?:ChatGPT|Claude|Gemini|Copilot|Perplexity|Meta AI|Le Chat|Grok|You[.]com|Duck[.]ai|Cursor|Coral|Manus|Doubao|DeepSeek|Poe|Pi|Character[.]AI|Qwen|Jasper|Chatsonic|Phind|Andi|Codeium|Kimi|Z[.]ai|Yuanbao|Genspark|T3 Chat|Ernie|iAsk|Felo|Liner|Venice|Elicit|Consensus|HuggingChat|OpenRouter|Lumo|Kagi Assistant|MiniMax|Alice|GigaChat|Monica|Sider|Merlin|Arena|Blackbox AI|Metaso|Nano AI|Spark Desk|SciSpace|Euria|Luzia|Komo|Chat[+]|Zapia|Rufus|Amazon Nova|Exa|Tavily|Scite|Globe Explorer|OpenEvidence|Tiangong|Dola)$') else false end else false end then case when channel = 'AI Assistants' then source else regexp_extract(referrer, '^(?:https?://(?:[^/]*[.])?)?((?:chatgpt[.]com|chat[.]openai[.]com|labs[.]openai[.]com|chat[.]com|claude[.]ai|claude[.]com|gemini[.]google[.]com|bard[.]google[.]com|aistudio[.]google[.]com|notebooklm[.]google[.]com|vertexaisearch[.]cloud[.]google[.]com|gemini[.]google|notebooklm[.]google|ai[.]google|search[.]google[.]com/ai|copilot[.]microsoft[.]com|copilot[.]cloud[.]microsoft|m365[.]cloud[.]microsoft|edgeservices[.]bing[.]com|copilot[.]com|bing[.]com/chat|bing[.]com/copilotsearch|microsoft365[.]com/chat|copilotstudio[.]microsoft[.]com|github[.]com/copilot|perplexity[.]ai|perplexity[.]com|pplx[.]ai|meta[.]ai|chat[.]mistral[.]ai|mistral[.]ai|grok[.]com|x[.]ai|x[.]com/i/grok|you[.]com|duck[.]ai|cursor[.]com|coral[.]cohere[.]com|chat[.]cohere[.]com|manus[.]im|doubao[.]com|chat[.]deepseek[.]com|deepseek[.]com|poe[.]com|pi[.]ai|heypi[.]com|character[.]ai|chat[.]qwen[.]ai|qwen[.]ai|qianwen[.]com|tongyi[.]com|tongyi[.]aliyun[.]com|jasper[.]ai|app[.]jasper[.]ai|writesonic[.]com|chatsonic[.]com|phind[.]com|andi[.]com|andisearch[.]com|codeium[.]com|windsurf[.]com|kimi[.]com|kimi[.]moonshot[.]cn|chat[.]z[.]ai|chatglm[.]cn|z[.]ai|yuanbao[.]tencent[.]com|hunyuan[.]tencent[.]com|ima[.]qq[.]com|genspark[.]ai|t3[.]chat|yiyan[.]baidu[.]com|ai[.]baidu[.]com|chat[.]baidu[.]com|ernie[.]baidu[.]com|iask[.]ai|felo[.]ai|liner[.]com|getliner[.]com|venice[.]ai|elicit[.]com|elicit[.]org|consensus[.]app|huggingface[.]co/chat|hf[.]co/chat|openrouter[.]ai|lumo[.]proton[.]me|kagi[.]com/assistant|chat[.]minimax[.]io|agent[.]minimax[.]io|chat[.]minimaxi[.]com|hailuoai[.]com|hailuoai[.]video|alice[.]yandex[.]ru|giga[.]chat|monica[.]im|sider[.]ai|getmerlin[.]in|lmarena[.]ai|arena[.]ai|blackbox[.]ai|metaso[.]cn|n[.]cn|xinghuo[.]xfyun[.]cn|scispace[.]com|typeset[.]io|euria[.]infomaniak[.]com|luzia[.]com|komo[.]ai|chatplus[.]com|chat-gpt[.]org|zapia[.]com|rufus[.]amazon[.]com|nova[.]amazon[.]com|exa[.]ai|tavily[.]com|scite[.]ai|globe[.]engineer|openevidence[.]com|tiangong[.]cn|dola[.]com|cici[.]com)|android-app://(?:com[.]openai[.]chatgpt|com[.]anthropic[.]claude|com[.]google[.]android[.]apps[.]bard|com[.]google[.]android[.]apps[.]labs[.]language[.]tailwind|com[.]microsoft[.]copilot|com[.]microsoft[.]office[.]officehubrow|ai[.]perplexity[.]app[.]android|com[.]facebook[.]stella|ai[.]mistral[.]chat|ai[.]x[.]grok|tech[.]butterfly[.]app|com[.]larus[.]nova|com[.]deepseek[.]chat|com[.]poe[.]android|ai[.]inflection[.]pi|ai[.]character[.]app|ai[.]qwenlm[.]chat[.]android|com[.]aliyun[.]tongyi|com[.]tongyi[.]intl|com[.]moonshot[.]kimichat|com[.]zhipuai[.]qingyan|com[.]tencent[.]hunyuan[.]app[.]chat|ai[.]mainfunc[.]genspark|ai[.]mainfunc[.]genspark[.]pro|com[.]baidu[.]newapp|me[.]proton[.]android[.]lumo|com[.]minimax[.]ai|com[.]yandex[.]aliceapp|com[.]metaso|com[.]qihoo[.]namiso|com[.]iflytek[.]spark|co[.]thewordlab[.]luzia|com[.]brainlogic[.]zapia))[.]?(?:/|$)', 1) end end, case when channel = 'Organic Search' then source end) as sender
    from events as e
    where site_id = 1
      and timestamp >= timestamp '2026-10-24 22:00:00.000'
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and ((country is not null and country in ('US')))
      and kind = 'pageview'
      and timestamp = session_start
      and pathname = entry_page
  ) v
  where sender in ('chatgpt.com', 'Google', 'Bing', 'Yahoo!', 'DuckDuckGo', 'Qwant', 'Brave Search', 'Kagi', 'Mojeek', 'Presearch', 'Marginalia', 'Baidu', '360 Search', 'Sogou', 'Naver', 'Daum', 'Yandex', 'Mail.ru Search', 'Seznam', 'Exalead', 'Shenma', 'Cốc Cốc', 'Petal Search', 'Stract', 'Toutiao', 'Freespoke')
  group by session_id, sender
) a
join (
  select session_id as reached_by, goal
  from (
    select e.*, 'Signed up' as goal
    from events as e
    where (((kind is not null and kind in ('custom')) and (event_name is not null and event_name in ('signup'))))
  ) as e
  where site_id = 1
    and timestamp >= timestamp '2026-10-24 22:00:00.000'
    and timestamp < timestamp '2026-10-26 12:00:00.000'
  group by session_id, goal
) g on reached_by = session_id
group by sender;

/* /api/bill */
select coalesce(sum(duration_ms), 0) as ms
from events as e
where site_id = 1
  and timestamp >= timestamp '2026-10-24 22:00:00.000'
  and timestamp < timestamp '2026-10-26 12:00:00.000'
  and ((country is not null and country in ('US')))
  and kind = 'pageview';

/* /api/bill */
select operator, fate, bucket, count(*) as fetches, sum(bytes) as size, sum(duration_ms) as ms,
    sum(case when coalesce(bytes, 0) = 0 and method = 'GET' and status in (200, 206) then 1 else 0 end) as without_bytes,
    sum(case when coalesce(duration_ms, 0) = 0 then 1 else 0 end) as without_duration
from (
  select operator, agent_id, purpose, bytes, duration_ms, method, status, case when (action is not null and action <> 'allow') then 'refused' when verification <> 'spoofed' then 'charged' else 'spoofed' end as fate,
      case when not robots_allowed then case when grace then 'grace' when verified is null or not verified then 'unverified' when false then 'breach' when false then 'unbound' else 'unclear' end end as severity,
      (((epoch_ms(timestamp) + (case when timestamp < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end)) // 86400000) * 86400000) as bucket
  from (
    select *, robots_grace is not null
      and robots_grace as grace
    from agent_events
    where site_id = 1
      and timestamp >= timestamp '2026-10-24 22:00:00.000'
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and ((country is not null and country in ('US')))
  ) g
) f
group by operator, fate, bucket
order by size desc nulls last, operator, fate, bucket;
