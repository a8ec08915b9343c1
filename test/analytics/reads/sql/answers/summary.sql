/* /api/answers/summary */ with arrived as materialized (
  select session_id, case assistant when 'chatgpt.com' then 'OpenAI' end as sender, entry_host,
      entry_path, came
  from (
    select session_id, min(assistant) as assistant, min(hostname) as entry_host, min(pathname) as entry_path,
        min(moment) + 0 as came
    from (
      select session_id, hostname, pathname, epoch_ms(timestamp) as moment, case when case when timestamp = session_start and pathname = entry_page then case when channel = 'AI Assistants' then true when channel in ('Paid Search', 'Paid Social', 'Paid Video', 'Paid Shopping', 'Paid Other', 'Display', 'Cross-network') then regexp_matches(referrer, '^(?:https?://(?:[^/]*[.])?)?((?:chatgpt[.]com|chat[.]openai[.]com|labs[.]openai[.]com|chat[.]com|claude[.]ai|claude[.]com|gemini[.]google[.]com|bard[.]google[.]com|aistudio[.]google[.]com|notebooklm[.]google[.]com|vertexaisearch[.]cloud[.]google[.]com|gemini[.]google|notebooklm[.]google|ai[.]google|search[.]google[.]com/ai|copilot[.]microsoft[.]com|copilot[.]cloud[.]microsoft|m365[.]cloud[.]microsoft|edgeservices[.]bing[.]com|copilot[.]com|bing[.]com/chat|bing[.]com/copilotsearch|microsoft365[.]com/chat|copilotstudio[.]microsoft[.]com|github[.]com/copilot|perplexity[.]ai|perplexity[.]com|pplx[.]ai|meta[.]ai|chat[.]mistral[.]ai|mistral[.]ai|grok[.]com|x[.]ai|x[.]com/i/grok|you[.]com|duck[.]ai|cursor[.]com|coral[.]cohere[.]com|chat[.]cohere[.]com|manus[.]im|doubao[.]com|chat[.]deepseek[.]com|deepseek[.]com|poe[.]com|pi[.]ai|heypi[.]com|character[.]ai|chat[.]qwen[.]ai|qwen[.]ai|qianwen[.]com|tongyi[.]com|tongyi[.]aliyun[.]com|jasper[.]ai|app[.]jasper[.]ai|writesonic[.]com|chatsonic[.]com|phind[.]com|andi[.]com|andisearch[.]com|codeium[.]com|windsurf[.]com|kimi[.]com|kimi[.]moonshot[.]cn|chat[.]z[.]ai|chatglm[.]cn|z[.]ai|yuanbao[.]tencent[.]com|hunyuan[.]tencent[.]com|ima[.]qq[.]com|genspark[.]ai|t3[.]chat|yiyan[.]baidu[.]com|ai[.]baidu[.]com|chat[.]baidu[.]com|ernie[.]baidu[.]com|iask[.]ai|felo[.]ai|liner[.]com|getliner[.]com|venice[.]ai|elicit[.]com|elicit[.]org|consensus[.]app|huggingface[.]co/chat|hf[.]co/chat|openrouter[.]ai|lumo[.]proton[.]me|kagi[.]com/assistant|chat[.]minimax[.]io|agent[.]minimax[.]io|chat[.]minimaxi[.]com|hailuoai[.]com|hailuoai[.]video|alice[.]yandex[.]ru|giga[.]chat|monica[.]im|sider[.]ai|getmerlin[.]in|lmarena[.]ai|arena[.]ai|blackbox[.]ai|metaso[.]cn|n[.]cn|xinghuo[.]xfyun[.]cn|scispace[.]com|typeset[.]io|euria[.]infomaniak[.]com|luzia[.]com|komo[.]ai|chatplus[.]com|chat-gpt[.]org|zapia[.]com|rufus[.]amazon[.]com|nova[.]amazon[.]com|exa[.]ai|tavily[.]com|scite[.]ai|globe[.]engineer|openevidence[.]com|tiangong[.]cn|dola[.]com|cici[.]com)|android-app://(?:com[.]openai[.]chatgpt|com[.]anthropic[.]claude|com[.]google[.]android[.]apps[.]bard|com[.]google[.]android[.]apps[.]labs[.]language[.]tailwind|com[.]microsoft[.]copilot|com[.]microsoft[.]office[.]officehubrow|ai[.]perplexity[.]app[.]android|com[.]facebook[.]stella|ai[.]mistral[.]chat|ai[.]x[.]grok|tech[.]butterfly[.]app|com[.]larus[.]nova|com[.]deepseek[.]chat|com[.]poe[.]android|ai[.]inflection[.]pi|ai[.]character[.]app|ai[.]qwenlm[.]chat[.]android|com[.]aliyun[.]tongyi|com[.]tongyi[.]intl|com[.]moonshot[.]kimichat|com[.]zhipuai[.]qingyan|com[.]tencent[.]hunyuan[.]app[.]chat|ai[.]mainfunc[.]genspark|ai[.]mainfunc[.]genspark[.]pro|com[.]baidu[.]newapp|me[.]proton[.]android[.]lumo|com[.]minimax[.]ai|com[.]yandex[.]aliceapp|com[.]metaso|com[.]qihoo[.]namiso|com[.]iflytek[.]spark|co[.]thewordlab[.]luzia|com[.]brainlogic[.]zapia))[.]?(?:/|$)') and not regexp_matches(source, '^(?:ChatGPT|Claude|Gemini|Copilot|Perplexity|Meta AI|Le Chat|Grok|You[.]com|Duck[.]ai|Cursor|Coral|Manus|Doubao|DeepSeek|Poe|Pi|Character[.]AI|Qwen|Jasper|Chatsonic|Phind|Andi|Codeium|Kimi|Z[.]ai|Yuanbao|Genspark|T3 Chat|Ernie|iAsk|Felo|Liner|Venice|Elicit|Consensus|HuggingChat|OpenRouter|Lumo|Kagi Assistant|MiniMax|Alice|GigaChat|Monica|Sider|Merlin|Arena|Blackbox AI|Metaso|Nano AI|Spark Desk|SciSpace|Euria|Luzia|Komo|Chat[+]|Zapia|Rufus|Amazon Nova|Exa|Tavily|Scite|Globe Explorer|OpenEvidence|Tiangong|Dola)$') else false end else false end then case when channel = 'AI Assistants' then source else regexp_extract(referrer, '^(?:https?://(?:[^/]*[.])?)?((?:chatgpt[.]com|chat[.]openai[.]com|labs[.]openai[.]com|chat[.]com|claude[.]ai|claude[.]com|gemini[.]google[.]com|bard[.]google[.]com|aistudio[.]google[.]com|notebooklm[.]google[.]com|vertexaisearch[.]cloud[.]google[.]com|gemini[.]google|notebooklm[.]google|ai[.]google|search[.]google[.]com/ai|copilot[.]microsoft[.]com|copilot[.]cloud[.]microsoft|m365[.]cloud[.]microsoft|edgeservices[.]bing[.]com|copilot[.]com|bing[.]com/chat|bing[.]com/copilotsearch|microsoft365[.]com/chat|copilotstudio[.]microsoft[.]com|github[.]com/copilot|perplexity[.]ai|perplexity[.]com|pplx[.]ai|meta[.]ai|chat[.]mistral[.]ai|mistral[.]ai|grok[.]com|x[.]ai|x[.]com/i/grok|you[.]com|duck[.]ai|cursor[.]com|coral[.]cohere[.]com|chat[.]cohere[.]com|manus[.]im|doubao[.]com|chat[.]deepseek[.]com|deepseek[.]com|poe[.]com|pi[.]ai|heypi[.]com|character[.]ai|chat[.]qwen[.]ai|qwen[.]ai|qianwen[.]com|tongyi[.]com|tongyi[.]aliyun[.]com|jasper[.]ai|app[.]jasper[.]ai|writesonic[.]com|chatsonic[.]com|phind[.]com|andi[.]com|andisearch[.]com|codeium[.]com|windsurf[.]com|kimi[.]com|kimi[.]moonshot[.]cn|chat[.]z[.]ai|chatglm[.]cn|z[.]ai|yuanbao[.]tencent[.]com|hunyuan[.]tencent[.]com|ima[.]qq[.]com|genspark[.]ai|t3[.]chat|yiyan[.]baidu[.]com|ai[.]baidu[.]com|chat[.]baidu[.]com|ernie[.]baidu[.]com|iask[.]ai|felo[.]ai|liner[.]com|getliner[.]com|venice[.]ai|elicit[.]com|elicit[.]org|consensus[.]app|huggingface[.]co/chat|hf[.]co/chat|openrouter[.]ai|lumo[.]proton[.]me|kagi[.]com/assistant|chat[.]minimax[.]io|agent[.]minimax[.]io|chat[.]minimaxi[.]com|hailuoai[.]com|hailuoai[.]video|alice[.]yandex[.]ru|giga[.]chat|monica[.]im|sider[.]ai|getmerlin[.]in|lmarena[.]ai|arena[.]ai|blackbox[.]ai|metaso[.]cn|n[.]cn|xinghuo[.]xfyun[.]cn|scispace[.]com|typeset[.]io|euria[.]infomaniak[.]com|luzia[.]com|komo[.]ai|chatplus[.]com|chat-gpt[.]org|zapia[.]com|rufus[.]amazon[.]com|nova[.]amazon[.]com|exa[.]ai|tavily[.]com|scite[.]ai|globe[.]engineer|openevidence[.]com|tiangong[.]cn|dola[.]com|cici[.]com)|android-app://(?:com[.]openai[.]chatgpt|com[.]anthropic[.]claude|com[.]google[.]android[.]apps[.]bard|com[.]google[.]android[.]apps[.]labs[.]language[.]tailwind|com[.]microsoft[.]copilot|com[.]microsoft[.]office[.]officehubrow|ai[.]perplexity[.]app[.]android|com[.]facebook[.]stella|ai[.]mistral[.]chat|ai[.]x[.]grok|tech[.]butterfly[.]app|com[.]larus[.]nova|com[.]deepseek[.]chat|com[.]poe[.]android|ai[.]inflection[.]pi|ai[.]character[.]app|ai[.]qwenlm[.]chat[.]android|com[.]aliyun[.]tongyi|com[.]tongyi[.]intl|com[.]moonshot[.]kimichat|com[.]zhipuai[.]qingyan|com[.]tencent[.]hunyuan[.]app[.]chat|ai[.]mainfunc[.]genspark|ai[.]mainfunc[.]genspark[.]pro|com[.]baidu[.]newapp|me[.]proton[.]android[.]lumo|com[.]minimax[.]ai|com[.]yandex[.]aliceapp|com[.]metaso|com[.]qihoo[.]namiso|com[.]iflytek[.]spark|co[.]thewordlab[.]luzia|com[.]brainlogic[.]zapia))[.]?(?:/|$)', 1) end end as assistant
      from events as e
      where site_id = 1
        and timestamp >= timestamp '2026-10-24 22:00:00.000'
        and timestamp < timestamp '2026-10-26 12:10:00.000'
        and kind = 'pageview'
        and ((country is not null and country in ('US')))
    ) v
    where assistant is not null
    group by session_id
  ) s
), matched as materialized (
  select *, row_number() over (partition by operator, hostname, pathname, fetched order by came, session_id) as nth,
      row_number() over (partition by operator, hostname, pathname, fetched, same_page order by came, session_id) as nth_of_kind
  from (
    select session_id, operator, came, fetched, came - fetched as delay, same_page, page[1] as hostname,
        page[2] as pathname, page[3] as passes
    from (
      select session_id, min(sender) as operator, min(came) as came, min(fetched) as fetched,
          min(is_same) as same_page, max(row(hostname, pathname, passes)) as page
      from (
        select v.*, is_same, latest - is_same * 100000000000000 as moment
        from arrived v
        join (
          select id, latest, case when latest >= 100000000000000 then 1 else 0 end as is_same
          from (
            select session_id as id, max(fetched + case when (entry_host = hostname and entry_path = pathname) then 100000000000000 else 0 end) as latest
            from (
              select *, (fetched // 600000) as slot
              from (
                select operator, hostname, pathname, epoch_ms(timestamp) as fetched, case when ((country is not null and country in ('US'))) then 1 else 0 end as passes
                from agent_events
                where site_id = 1
                  and timestamp >= timestamp '2026-10-24 21:50:00.000'
                  and timestamp < timestamp '2026-10-26 12:10:00.000'
                  and purpose = 'assistant'
                  and is_pageview
                  and not verification = 'spoofed'
                  and coalesce(action, 'allow') = 'allow'
                  and operator in ('OpenAI')
                  and (import_id is null or import_id in (
                    select import_id
                    from events
                    where site_id = 1
                      and import_id is not null
                      and referrer is not null
                  ))
              ) l
            ) f
            join (
              select *, (came // 600000) - back as near_slot
              from arrived
              cross join (
                select 0 as back
                union all
                select 1 as back
              ) b
            ) a on sender = operator
              and near_slot = slot
            where fetched <= came
              and came - fetched <= 600000
            group by session_id
          ) n
        ) n on id = session_id
      ) a
      join (
        select operator, hostname, pathname, epoch_ms(timestamp) as fetched, case when ((country is not null and country in ('US'))) then 1 else 0 end as passes
        from agent_events
        where site_id = 1
          and timestamp >= timestamp '2026-10-24 21:50:00.000'
          and timestamp < timestamp '2026-10-26 12:10:00.000'
          and purpose = 'assistant'
          and is_pageview
          and not verification = 'spoofed'
          and coalesce(action, 'allow') = 'allow'
          and operator in ('OpenAI')
          and (import_id is null or import_id in (
            select import_id
            from events
            where site_id = 1
              and import_id is not null
              and referrer is not null
          ))
      ) f on sender = operator
        and moment = fetched
      where is_same = 0 or (entry_host = hostname and entry_path = pathname)
      group by session_id
    ) m
  ) m
  where passes = 1
    and fetched >= 1792879200000
    and fetched < 1793016000000
)
select fetches, followed, followed_same_page, arrivals, same_page, arrivals - same_page as other_page,
    goals, (fetches - followed) * 1.0 / nullif(fetches, 0) as not_followed, case when arrivals >= 5 then median_delay / 1000.0 end as delay,
    case when arrivals >= 5 then median_stay / 1000.0 end as stay, delay_1, delay_2, delay_3,
    delay_4, bin_0, bin_1, bin_2, bin_3, bin_4, bin_5, bin_6, bin_7, bin_8, bin_9, bin_10, bin_11,
    bin_12, bin_13, bin_14, bin_15, bin_16, bin_17, bin_18, bin_19
from (
  select coalesce(sum(fetches), 0) as fetches, coalesce(sum(followed), 0) as followed, coalesce(sum(followed_same_page), 0) as followed_same_page,
      coalesce(sum(arrivals), 0) as arrivals, coalesce(sum(same_page), 0) as same_page, coalesce(sum(goals), 0) as goals,
      quantile_cont(delay, 0.5) as median_delay, quantile_cont(ms, 0.5) as median_stay, max(case when place = 1 then delay end) as delay_1,
      max(case when place = 2 then delay end) as delay_2, max(case when place = 3 then delay end) as delay_3,
      max(case when place = 4 then delay end) as delay_4, coalesce(sum(case when part = 0 then 1 else 0 end), 0) as bin_0,
      coalesce(sum(case when part = 1 then 1 else 0 end), 0) as bin_1, coalesce(sum(case when part = 2 then 1 else 0 end), 0) as bin_2,
      coalesce(sum(case when part = 3 then 1 else 0 end), 0) as bin_3, coalesce(sum(case when part = 4 then 1 else 0 end), 0) as bin_4,
      coalesce(sum(case when part = 5 then 1 else 0 end), 0) as bin_5, coalesce(sum(case when part = 6 then 1 else 0 end), 0) as bin_6,
      coalesce(sum(case when part = 7 then 1 else 0 end), 0) as bin_7, coalesce(sum(case when part = 8 then 1 else 0 end), 0) as bin_8,
      coalesce(sum(case when part = 9 then 1 else 0 end), 0) as bin_9, coalesce(sum(case when part = 10 then 1 else 0 end), 0) as bin_10,
      coalesce(sum(case when part = 11 then 1 else 0 end), 0) as bin_11, coalesce(sum(case when part = 12 then 1 else 0 end), 0) as bin_12,
      coalesce(sum(case when part = 13 then 1 else 0 end), 0) as bin_13, coalesce(sum(case when part = 14 then 1 else 0 end), 0) as bin_14,
      coalesce(sum(case when part = 15 then 1 else 0 end), 0) as bin_15, coalesce(sum(case when part = 16 then 1 else 0 end), 0) as bin_16,
      coalesce(sum(case when part = 17 then 1 else 0 end), 0) as bin_17, coalesce(sum(case when part = 18 then 1 else 0 end), 0) as bin_18,
      coalesce(sum(case when part >= 19 then 1 else 0 end), 0) as bin_19
  from (
    select operator, hostname, pathname, count(*) as fetches, 0 as followed, 0 as followed_same_page,
        0 as arrivals, 0 as same_page, 0 as goals, null as delay, null as ms, null as place,
        null as part
    from (
      select operator, hostname, pathname, epoch_ms(timestamp) as fetched, case when ((country is not null and country in ('US'))) then 1 else 0 end as passes
      from agent_events
      where site_id = 1
        and timestamp >= timestamp '2026-10-24 21:50:00.000'
        and timestamp < timestamp '2026-10-26 12:10:00.000'
        and purpose = 'assistant'
        and is_pageview
        and not verification = 'spoofed'
        and coalesce(action, 'allow') = 'allow'
        and operator in ('OpenAI')
        and (import_id is null or import_id in (
          select import_id
          from events
          where site_id = 1
            and import_id is not null
            and referrer is not null
        ))
    ) f
    where passes = 1
      and fetched >= 1792879200000
      and fetched < 1793016000000
    group by operator, hostname, pathname
    union all
    select m.operator, m.hostname, m.pathname, 0 as fetches, case when nth = 1 then 1 else 0 end as followed,
        case when nth_of_kind = 1 then same_page else 0 end as followed_same_page, 1 as arrivals,
        same_page as same_page, coalesce(g.goals, 0) as goals, delay, s.ms, row_number() over (order by delay, m.session_id),
        (delay // 30000)
    from matched m
    left join (
      select session_id, count(distinct goal) as goals
      from (
        select e.*, 'Signed up' as goal
        from events as e
        where (((kind is not null and kind in ('custom')) and (event_name is not null and event_name in ('signup'))))
      ) as e
      where site_id = 1
        and session_start >= timestamp '2026-10-24 22:00:00.000'
        and session_start < timestamp '2026-10-26 12:10:00.000'
        and session_id in (
          select session_id
          from arrived
        )
      group by session_id
    ) g on g.session_id = m.session_id
    left join (
      select session_id, visitor_id, started, ended, ms, views, interactions, bounced, exit_page,
          entry_page
      from (
        /* aggregated sessions */
        select *, ms / 1000.0 as duration
        from sessions
        where site_id = 1
          and started >= timestamp '2026-10-24 22:00:00.000'
          and started < timestamp '2026-10-25 12:00:00.000'
      ) s
      where session_id in (
        select session_id
        from arrived
      )
      union all
      select session_id, coalesce(min(visitor_id) filter (where timestamp = session_start), min(visitor_id)) as visitor_id,
          min(session_start) as started, max(timestamp) as ended, epoch_ms(max(timestamp)) - epoch_ms(min(timestamp)) as ms,
          count(*) filter (where kind = 'pageview') as views, count(*) filter (where kind in ('custom', 'outbound', 'file_download', 'form')) as interactions,
          case when count(*) filter (where kind = 'pageview') = 1 and count(*) filter (where kind in ('custom', 'outbound', 'file_download', 'form') and event_name is distinct from 'flag_exposure') = 0 and coalesce(sum(engaged_ms), 0) < 10000 then 1.0 else 0.0 end as bounced,
          coalesce(arg_max(pathname, (timestamp, pathname)) filter (where kind = 'pageview'), arg_max(pathname, (timestamp, pathname)) filter (where kind in ('custom', 'outbound', 'file_download', 'form'))) as exit_page,
          min(entry_page) as entry_page
      from (
        select *
        from (
          /* hits that no aggregate replaces */
          select *
          from events
          where site_id = 1
            and session_start >= timestamp '2026-10-24 22:00:00.000'
            and session_start < timestamp '2026-10-26 12:10:00.000'
            and session_start >= timestamp '2026-10-25 12:00:00.000'
        ) h
        where session_id in (
          select session_id
          from arrived
        )
      ) e
      group by session_id
    ) s on s.session_id = m.session_id
  ) u
) t;

/* /api/answers/summary */ with arrived as materialized (
  select session_id, case assistant when 'chatgpt.com' then 'OpenAI' end as sender, entry_host,
      entry_path, came
  from (
    select session_id, min(assistant) as assistant, min(hostname) as entry_host, min(pathname) as entry_path,
        min(moment) + 86400000 as came
    from (
      select session_id, hostname, pathname, epoch_ms(timestamp) as moment, case when case when timestamp = session_start and pathname = entry_page then case when channel = 'AI Assistants' then true when channel in ('Paid Search', 'Paid Social', 'Paid Video', 'Paid Shopping', 'Paid Other', 'Display', 'Cross-network') then regexp_matches(referrer, '^(?:https?://(?:[^/]*[.])?)?((?:chatgpt[.]com|chat[.]openai[.]com|labs[.]openai[.]com|chat[.]com|claude[.]ai|claude[.]com|gemini[.]google[.]com|bard[.]google[.]com|aistudio[.]google[.]com|notebooklm[.]google[.]com|vertexaisearch[.]cloud[.]google[.]com|gemini[.]google|notebooklm[.]google|ai[.]google|search[.]google[.]com/ai|copilot[.]microsoft[.]com|copilot[.]cloud[.]microsoft|m365[.]cloud[.]microsoft|edgeservices[.]bing[.]com|copilot[.]com|bing[.]com/chat|bing[.]com/copilotsearch|microsoft365[.]com/chat|copilotstudio[.]microsoft[.]com|github[.]com/copilot|perplexity[.]ai|perplexity[.]com|pplx[.]ai|meta[.]ai|chat[.]mistral[.]ai|mistral[.]ai|grok[.]com|x[.]ai|x[.]com/i/grok|you[.]com|duck[.]ai|cursor[.]com|coral[.]cohere[.]com|chat[.]cohere[.]com|manus[.]im|doubao[.]com|chat[.]deepseek[.]com|deepseek[.]com|poe[.]com|pi[.]ai|heypi[.]com|character[.]ai|chat[.]qwen[.]ai|qwen[.]ai|qianwen[.]com|tongyi[.]com|tongyi[.]aliyun[.]com|jasper[.]ai|app[.]jasper[.]ai|writesonic[.]com|chatsonic[.]com|phind[.]com|andi[.]com|andisearch[.]com|codeium[.]com|windsurf[.]com|kimi[.]com|kimi[.]moonshot[.]cn|chat[.]z[.]ai|chatglm[.]cn|z[.]ai|yuanbao[.]tencent[.]com|hunyuan[.]tencent[.]com|ima[.]qq[.]com|genspark[.]ai|t3[.]chat|yiyan[.]baidu[.]com|ai[.]baidu[.]com|chat[.]baidu[.]com|ernie[.]baidu[.]com|iask[.]ai|felo[.]ai|liner[.]com|getliner[.]com|venice[.]ai|elicit[.]com|elicit[.]org|consensus[.]app|huggingface[.]co/chat|hf[.]co/chat|openrouter[.]ai|lumo[.]proton[.]me|kagi[.]com/assistant|chat[.]minimax[.]io|agent[.]minimax[.]io|chat[.]minimaxi[.]com|hailuoai[.]com|hailuoai[.]video|alice[.]yandex[.]ru|giga[.]chat|monica[.]im|sider[.]ai|getmerlin[.]in|lmarena[.]ai|arena[.]ai|blackbox[.]ai|metaso[.]cn|n[.]cn|xinghuo[.]xfyun[.]cn|scispace[.]com|typeset[.]io|euria[.]infomaniak[.]com|luzia[.]com|komo[.]ai|chatplus[.]com|chat-gpt[.]org|zapia[.]com|rufus[.]amazon[.]com|nova[.]amazon[.]com|exa[.]ai|tavily[.]com|scite[.]ai|globe[.]engineer|openevidence[.]com|tiangong[.]cn|dola[.]com|cici[.]com)|android-app://(?:com[.]openai[.]chatgpt|com[.]anthropic[.]claude|com[.]google[.]android[.]apps[.]bard|com[.]google[.]android[.]apps[.]labs[.]language[.]tailwind|com[.]microsoft[.]copilot|com[.]microsoft[.]office[.]officehubrow|ai[.]perplexity[.]app[.]android|com[.]facebook[.]stella|ai[.]mistral[.]chat|ai[.]x[.]grok|tech[.]butterfly[.]app|com[.]larus[.]nova|com[.]deepseek[.]chat|com[.]poe[.]android|ai[.]inflection[.]pi|ai[.]character[.]app|ai[.]qwenlm[.]chat[.]android|com[.]aliyun[.]tongyi|com[.]tongyi[.]intl|com[.]moonshot[.]kimichat|com[.]zhipuai[.]qingyan|com[.]tencent[.]hunyuan[.]app[.]chat|ai[.]mainfunc[.]genspark|ai[.]mainfunc[.]genspark[.]pro|com[.]baidu[.]newapp|me[.]proton[.]android[.]lumo|com[.]minimax[.]ai|com[.]yandex[.]aliceapp|com[.]metaso|com[.]qihoo[.]namiso|com[.]iflytek[.]spark|co[.]thewordlab[.]luzia|com[.]brainlogic[.]zapia))[.]?(?:/|$)') and not regexp_matches(source, '^(?:ChatGPT|Claude|Gemini|Copilot|Perplexity|Meta AI|Le Chat|Grok|You[.]com|Duck[.]ai|Cursor|Coral|Manus|Doubao|DeepSeek|Poe|Pi|Character[.]AI|Qwen|Jasper|Chatsonic|Phind|Andi|Codeium|Kimi|Z[.]ai|Yuanbao|Genspark|T3 Chat|Ernie|iAsk|Felo|Liner|Venice|Elicit|Consensus|HuggingChat|OpenRouter|Lumo|Kagi Assistant|MiniMax|Alice|GigaChat|Monica|Sider|Merlin|Arena|Blackbox AI|Metaso|Nano AI|Spark Desk|SciSpace|Euria|Luzia|Komo|Chat[+]|Zapia|Rufus|Amazon Nova|Exa|Tavily|Scite|Globe Explorer|OpenEvidence|Tiangong|Dola)$') else false end else false end then case when channel = 'AI Assistants' then source else regexp_extract(referrer, '^(?:https?://(?:[^/]*[.])?)?((?:chatgpt[.]com|chat[.]openai[.]com|labs[.]openai[.]com|chat[.]com|claude[.]ai|claude[.]com|gemini[.]google[.]com|bard[.]google[.]com|aistudio[.]google[.]com|notebooklm[.]google[.]com|vertexaisearch[.]cloud[.]google[.]com|gemini[.]google|notebooklm[.]google|ai[.]google|search[.]google[.]com/ai|copilot[.]microsoft[.]com|copilot[.]cloud[.]microsoft|m365[.]cloud[.]microsoft|edgeservices[.]bing[.]com|copilot[.]com|bing[.]com/chat|bing[.]com/copilotsearch|microsoft365[.]com/chat|copilotstudio[.]microsoft[.]com|github[.]com/copilot|perplexity[.]ai|perplexity[.]com|pplx[.]ai|meta[.]ai|chat[.]mistral[.]ai|mistral[.]ai|grok[.]com|x[.]ai|x[.]com/i/grok|you[.]com|duck[.]ai|cursor[.]com|coral[.]cohere[.]com|chat[.]cohere[.]com|manus[.]im|doubao[.]com|chat[.]deepseek[.]com|deepseek[.]com|poe[.]com|pi[.]ai|heypi[.]com|character[.]ai|chat[.]qwen[.]ai|qwen[.]ai|qianwen[.]com|tongyi[.]com|tongyi[.]aliyun[.]com|jasper[.]ai|app[.]jasper[.]ai|writesonic[.]com|chatsonic[.]com|phind[.]com|andi[.]com|andisearch[.]com|codeium[.]com|windsurf[.]com|kimi[.]com|kimi[.]moonshot[.]cn|chat[.]z[.]ai|chatglm[.]cn|z[.]ai|yuanbao[.]tencent[.]com|hunyuan[.]tencent[.]com|ima[.]qq[.]com|genspark[.]ai|t3[.]chat|yiyan[.]baidu[.]com|ai[.]baidu[.]com|chat[.]baidu[.]com|ernie[.]baidu[.]com|iask[.]ai|felo[.]ai|liner[.]com|getliner[.]com|venice[.]ai|elicit[.]com|elicit[.]org|consensus[.]app|huggingface[.]co/chat|hf[.]co/chat|openrouter[.]ai|lumo[.]proton[.]me|kagi[.]com/assistant|chat[.]minimax[.]io|agent[.]minimax[.]io|chat[.]minimaxi[.]com|hailuoai[.]com|hailuoai[.]video|alice[.]yandex[.]ru|giga[.]chat|monica[.]im|sider[.]ai|getmerlin[.]in|lmarena[.]ai|arena[.]ai|blackbox[.]ai|metaso[.]cn|n[.]cn|xinghuo[.]xfyun[.]cn|scispace[.]com|typeset[.]io|euria[.]infomaniak[.]com|luzia[.]com|komo[.]ai|chatplus[.]com|chat-gpt[.]org|zapia[.]com|rufus[.]amazon[.]com|nova[.]amazon[.]com|exa[.]ai|tavily[.]com|scite[.]ai|globe[.]engineer|openevidence[.]com|tiangong[.]cn|dola[.]com|cici[.]com)|android-app://(?:com[.]openai[.]chatgpt|com[.]anthropic[.]claude|com[.]google[.]android[.]apps[.]bard|com[.]google[.]android[.]apps[.]labs[.]language[.]tailwind|com[.]microsoft[.]copilot|com[.]microsoft[.]office[.]officehubrow|ai[.]perplexity[.]app[.]android|com[.]facebook[.]stella|ai[.]mistral[.]chat|ai[.]x[.]grok|tech[.]butterfly[.]app|com[.]larus[.]nova|com[.]deepseek[.]chat|com[.]poe[.]android|ai[.]inflection[.]pi|ai[.]character[.]app|ai[.]qwenlm[.]chat[.]android|com[.]aliyun[.]tongyi|com[.]tongyi[.]intl|com[.]moonshot[.]kimichat|com[.]zhipuai[.]qingyan|com[.]tencent[.]hunyuan[.]app[.]chat|ai[.]mainfunc[.]genspark|ai[.]mainfunc[.]genspark[.]pro|com[.]baidu[.]newapp|me[.]proton[.]android[.]lumo|com[.]minimax[.]ai|com[.]yandex[.]aliceapp|com[.]metaso|com[.]qihoo[.]namiso|com[.]iflytek[.]spark|co[.]thewordlab[.]luzia|com[.]brainlogic[.]zapia))[.]?(?:/|$)', 1) end end as assistant
      from events as e
      where site_id = 1
        and timestamp >= timestamp '2026-10-23 22:00:00.000'
        and timestamp < timestamp '2026-10-25 12:10:00.000'
        and kind = 'pageview'
        and ((country is not null and country in ('US')))
    ) v
    where assistant is not null
    group by session_id
  ) s
), matched as materialized (
  select *, row_number() over (partition by operator, hostname, pathname, fetched order by came, session_id) as nth,
      row_number() over (partition by operator, hostname, pathname, fetched, same_page order by came, session_id) as nth_of_kind
  from (
    select session_id, operator, came, fetched, came - fetched as delay, same_page, page[1] as hostname,
        page[2] as pathname, page[3] as passes
    from (
      select session_id, min(sender) as operator, min(came) as came, min(fetched) as fetched,
          min(is_same) as same_page, max(row(hostname, pathname, passes)) as page
      from (
        select v.*, is_same, latest - is_same * 100000000000000 as moment
        from arrived v
        join (
          select id, latest, case when latest >= 100000000000000 then 1 else 0 end as is_same
          from (
            select session_id as id, max(fetched + case when (entry_host = hostname and entry_path = pathname) then 100000000000000 else 0 end) as latest
            from (
              select *, (fetched // 600000) as slot
              from (
                select operator, hostname, pathname, epoch_ms(timestamp) as fetched, case when ((country is not null and country in ('US'))) then 1 else 0 end as passes
                from agent_events
                where site_id = 1
                  and timestamp >= timestamp '2026-10-24 21:50:00.000'
                  and timestamp < timestamp '2026-10-26 12:10:00.000'
                  and purpose = 'assistant'
                  and is_pageview
                  and not verification = 'spoofed'
                  and coalesce(action, 'allow') = 'allow'
                  and operator in ('OpenAI')
                  and (import_id is null or import_id in (
                    select import_id
                    from events
                    where site_id = 1
                      and import_id is not null
                      and referrer is not null
                  ))
              ) l
            ) f
            join (
              select *, (came // 600000) - back as near_slot
              from arrived
              cross join (
                select 0 as back
                union all
                select 1 as back
              ) b
            ) a on sender = operator
              and near_slot = slot
            where fetched <= came
              and came - fetched <= 600000
            group by session_id
          ) n
        ) n on id = session_id
      ) a
      join (
        select operator, hostname, pathname, epoch_ms(timestamp) as fetched, case when ((country is not null and country in ('US'))) then 1 else 0 end as passes
        from agent_events
        where site_id = 1
          and timestamp >= timestamp '2026-10-24 21:50:00.000'
          and timestamp < timestamp '2026-10-26 12:10:00.000'
          and purpose = 'assistant'
          and is_pageview
          and not verification = 'spoofed'
          and coalesce(action, 'allow') = 'allow'
          and operator in ('OpenAI')
          and (import_id is null or import_id in (
            select import_id
            from events
            where site_id = 1
              and import_id is not null
              and referrer is not null
          ))
      ) f on sender = operator
        and moment = fetched
      where is_same = 0 or (entry_host = hostname and entry_path = pathname)
      group by session_id
    ) m
  ) m
  where passes = 1
    and fetched >= 1792879200000
    and fetched < 1793016000000
)
select fetches, followed, followed_same_page, arrivals, same_page, arrivals - same_page as other_page,
    null as goals, (fetches - followed) * 1.0 / nullif(fetches, 0) as not_followed, case when arrivals >= 5 then median_delay / 1000.0 end as delay,
    case when false then median_stay / 1000.0 end as stay, delay_1, delay_2, delay_3, delay_4,
    bin_0, bin_1, bin_2, bin_3, bin_4, bin_5, bin_6, bin_7, bin_8, bin_9, bin_10, bin_11, bin_12,
    bin_13, bin_14, bin_15, bin_16, bin_17, bin_18, bin_19
from (
  select coalesce(sum(fetches), 0) as fetches, coalesce(sum(followed), 0) as followed, coalesce(sum(followed_same_page), 0) as followed_same_page,
      coalesce(sum(arrivals), 0) as arrivals, coalesce(sum(same_page), 0) as same_page, coalesce(sum(goals), 0) as goals,
      quantile_cont(delay, 0.5) as median_delay, quantile_cont(ms, 0.5) as median_stay, max(case when place = 1 then delay end) as delay_1,
      max(case when place = 2 then delay end) as delay_2, max(case when place = 3 then delay end) as delay_3,
      max(case when place = 4 then delay end) as delay_4, coalesce(sum(case when part = 0 then 1 else 0 end), 0) as bin_0,
      coalesce(sum(case when part = 1 then 1 else 0 end), 0) as bin_1, coalesce(sum(case when part = 2 then 1 else 0 end), 0) as bin_2,
      coalesce(sum(case when part = 3 then 1 else 0 end), 0) as bin_3, coalesce(sum(case when part = 4 then 1 else 0 end), 0) as bin_4,
      coalesce(sum(case when part = 5 then 1 else 0 end), 0) as bin_5, coalesce(sum(case when part = 6 then 1 else 0 end), 0) as bin_6,
      coalesce(sum(case when part = 7 then 1 else 0 end), 0) as bin_7, coalesce(sum(case when part = 8 then 1 else 0 end), 0) as bin_8,
      coalesce(sum(case when part = 9 then 1 else 0 end), 0) as bin_9, coalesce(sum(case when part = 10 then 1 else 0 end), 0) as bin_10,
      coalesce(sum(case when part = 11 then 1 else 0 end), 0) as bin_11, coalesce(sum(case when part = 12 then 1 else 0 end), 0) as bin_12,
      coalesce(sum(case when part = 13 then 1 else 0 end), 0) as bin_13, coalesce(sum(case when part = 14 then 1 else 0 end), 0) as bin_14,
      coalesce(sum(case when part = 15 then 1 else 0 end), 0) as bin_15, coalesce(sum(case when part = 16 then 1 else 0 end), 0) as bin_16,
      coalesce(sum(case when part = 17 then 1 else 0 end), 0) as bin_17, coalesce(sum(case when part = 18 then 1 else 0 end), 0) as bin_18,
      coalesce(sum(case when part >= 19 then 1 else 0 end), 0) as bin_19
  from (
    select operator, hostname, pathname, count(*) as fetches, 0 as followed, 0 as followed_same_page,
        0 as arrivals, 0 as same_page, 0 as goals, null as delay, null as ms, null as place,
        null as part
    from (
      select operator, hostname, pathname, epoch_ms(timestamp) as fetched, case when ((country is not null and country in ('US'))) then 1 else 0 end as passes
      from agent_events
      where site_id = 1
        and timestamp >= timestamp '2026-10-24 21:50:00.000'
        and timestamp < timestamp '2026-10-26 12:10:00.000'
        and purpose = 'assistant'
        and is_pageview
        and not verification = 'spoofed'
        and coalesce(action, 'allow') = 'allow'
        and operator in ('OpenAI')
        and (import_id is null or import_id in (
          select import_id
          from events
          where site_id = 1
            and import_id is not null
            and referrer is not null
        ))
    ) f
    where passes = 1
      and fetched >= 1792879200000
      and fetched < 1793016000000
    group by operator, hostname, pathname
    union all
    select m.operator, m.hostname, m.pathname, 0 as fetches, case when nth = 1 then 1 else 0 end as followed,
        case when nth_of_kind = 1 then same_page else 0 end as followed_same_page, 1 as arrivals,
        same_page as same_page, 0 as goals, delay, s.ms, row_number() over (order by delay, m.session_id),
        (delay // 30000)
    from matched m
    left join (
      select session_id, visitor_id, started, ended, ms, views, interactions, bounced, exit_page,
          entry_page
      from (
        /* aggregated sessions */
        select *, ms / 1000.0 as duration
        from sessions
        where site_id = 1
          and started >= timestamp '2026-10-23 22:00:00.000'
          and started < timestamp '2026-10-25 12:00:00.000'
      ) s
      where session_id in (
        select session_id
        from arrived
      )
      union all
      select session_id, coalesce(min(visitor_id) filter (where timestamp = session_start), min(visitor_id)) as visitor_id,
          min(session_start) as started, max(timestamp) as ended, epoch_ms(max(timestamp)) - epoch_ms(min(timestamp)) as ms,
          count(*) filter (where kind = 'pageview') as views, count(*) filter (where kind in ('custom', 'outbound', 'file_download', 'form')) as interactions,
          case when count(*) filter (where kind = 'pageview') = 1 and count(*) filter (where kind in ('custom', 'outbound', 'file_download', 'form') and event_name is distinct from 'flag_exposure') = 0 and coalesce(sum(engaged_ms), 0) < 10000 then 1.0 else 0.0 end as bounced,
          coalesce(arg_max(pathname, (timestamp, pathname)) filter (where kind = 'pageview'), arg_max(pathname, (timestamp, pathname)) filter (where kind in ('custom', 'outbound', 'file_download', 'form'))) as exit_page,
          min(entry_page) as entry_page
      from (
        select *
        from (
          /* hits that no aggregate replaces */
          select *
          from events
          where site_id = 1
            and session_start >= timestamp '2026-10-23 22:00:00.000'
            and session_start < timestamp '2026-10-25 12:10:00.000'
            and session_start >= timestamp '2026-10-25 12:00:00.000'
        ) h
        where session_id in (
          select session_id
          from arrived
        )
      ) e
      group by session_id
    ) s on s.session_id = m.session_id
  ) u
) t;

/* /api/answers/summary */
select count(*) as n
from agent_events
where site_id = 1
  and timestamp >= timestamp '2026-10-24 21:50:00.000'
  and timestamp < timestamp '2026-10-26 12:10:00.000'
  and purpose = 'assistant'
  and is_pageview
  and not verification = 'spoofed'
  and coalesce(action, 'allow') = 'allow'
  and operator in ('OpenAI')
  and site_id = 1
  and timestamp >= timestamp '2026-10-24 22:00:00.000'
  and timestamp < timestamp '2026-10-26 12:00:00.000'
  and not (import_id is null or import_id in (
    select import_id
    from events
    where site_id = 1
      and import_id is not null
      and referrer is not null
  ));
