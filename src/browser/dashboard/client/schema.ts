// Generated from the API's document by `npm run client`.
export interface paths {
    "/api/agents/breakdown": {
        parameters: {
        };
        get: operations["get_agents_breakdown"];
    };
    "/api/agents/catalog": {
        parameters: {
        };
        get: operations["get_agents_catalog"];
    };
    "/api/agents/coverage": {
        parameters: {
        };
        get: operations["get_agents_coverage"];
    };
    "/api/agents/formats": {
        parameters: {
        };
        get: operations["get_agents_formats"];
    };
    "/api/agents/llms-links": {
        parameters: {
        };
        get: operations["get_agents_llms_links"];
    };
    "/api/agents/overview": {
        parameters: {
        };
        get: operations["get_agents_overview"];
    };
    "/api/agents/timeseries": {
        parameters: {
        };
        get: operations["get_agents_timeseries"];
    };
    "/api/alerts": {
        parameters: {
        };
        get: operations["get_alerts"];
        post: operations["post_alerts"];
    };
    "/api/alerts/{id}": {
        parameters: {
        };
        get: operations["get_alerts_id"];
        delete: operations["delete_alerts_id"];
        patch: operations["patch_alerts_id"];
    };
    "/api/alerts/{id}/deliveries": {
        parameters: {
        };
        get: operations["get_alerts_id_deliveries"];
    };
    "/api/alerts/{id}/rotate-secret": {
        parameters: {
        };
        post: operations["post_alerts_id_rotate_secret"];
    };
    "/api/alerts/{id}/test": {
        parameters: {
        };
        post: operations["post_alerts_id_test"];
    };
    "/api/annotations": {
        parameters: {
        };
        get: operations["get_annotations"];
        post: operations["post_annotations"];
    };
    "/api/annotations/{id}": {
        parameters: {
        };
        get: operations["get_annotations_id"];
        delete: operations["delete_annotations_id"];
        patch: operations["patch_annotations_id"];
    };
    "/api/answers": {
        parameters: {
        };
        get: operations["get_answers"];
    };
    "/api/answers/summary": {
        parameters: {
        };
        get: operations["get_answers_summary"];
    };
    "/api/auth/change-email": {
        parameters: {
        };
        post: operations["post_auth_change_email"];
    };
    "/api/auth/change-password": {
        parameters: {
        };
        post: operations["post_auth_change_password"];
    };
    "/api/auth/confirm-email": {
        parameters: {
        };
        post: operations["post_auth_confirm_email"];
    };
    "/api/auth/forgot-password": {
        parameters: {
        };
        post: operations["post_auth_forgot_password"];
    };
    "/api/auth/link": {
        parameters: {
        };
        post: operations["post_auth_link"];
    };
    "/api/auth/login": {
        parameters: {
        };
        post: operations["post_auth_login"];
    };
    "/api/auth/logout": {
        parameters: {
        };
        post: operations["post_auth_logout"];
    };
    "/api/auth/me": {
        parameters: {
        };
        get: operations["get_auth_me"];
        delete: operations["delete_auth_me"];
        patch: operations["patch_auth_me"];
    };
    "/api/auth/register": {
        parameters: {
        };
        post: operations["post_auth_register"];
    };
    "/api/auth/reset-password": {
        parameters: {
        };
        post: operations["post_auth_reset_password"];
    };
    "/api/auth/sessions": {
        parameters: {
        };
        get: operations["get_auth_sessions"];
        delete: operations["delete_auth_sessions"];
    };
    "/api/auth/sessions/{id}": {
        parameters: {
        };
        delete: operations["delete_auth_sessions_id"];
    };
    "/api/auth/totp/confirm": {
        parameters: {
        };
        post: operations["post_auth_totp_confirm"];
    };
    "/api/auth/totp/disable": {
        parameters: {
        };
        post: operations["post_auth_totp_disable"];
    };
    "/api/auth/totp/enroll": {
        parameters: {
        };
        post: operations["post_auth_totp_enroll"];
    };
    "/api/auth/totp/recovery-codes": {
        parameters: {
        };
        post: operations["post_auth_totp_recovery_codes"];
    };
    "/api/batch": {
        parameters: {
        };
        post: operations["post_batch"];
    };
    "/api/bill": {
        parameters: {
        };
        get: operations["get_bill"];
    };
    "/api/blank-pages": {
        parameters: {
        };
        get: operations["get_blank_pages"];
    };
    "/api/citation-gap": {
        parameters: {
        };
        get: operations["get_citation_gap"];
    };
    "/api/citation-gap/summary": {
        parameters: {
        };
        get: operations["get_citation_gap_summary"];
    };
    "/api/content/decay": {
        parameters: {
        };
        get: operations["get_content_decay"];
    };
    "/api/edge/rules": {
        parameters: {
        };
        get: operations["get_edge_rules"];
    };
    "/api/editions": {
        parameters: {
        };
        get: operations["get_editions"];
    };
    "/api/editions/summary": {
        parameters: {
        };
        get: operations["get_editions_summary"];
    };
    "/api/evidence": {
        parameters: {
        };
        get: operations["get_evidence"];
        post: operations["post_evidence"];
    };
    "/api/evidence/key": {
        parameters: {
        };
        get: operations["get_evidence_key"];
    };
    "/api/evidence/pdf": {
        parameters: {
        };
        post: operations["post_evidence_pdf"];
    };
    "/api/flags": {
        parameters: {
        };
        get: operations["get_flags"];
        post: operations["post_flags"];
    };
    "/api/flags/{id}": {
        parameters: {
        };
        get: operations["get_flags_id"];
        delete: operations["delete_flags_id"];
        patch: operations["patch_flags_id"];
    };
    "/api/flags/evaluate": {
        parameters: {
        };
        get: operations["get_flags_evaluate"];
    };
    "/api/funnels": {
        parameters: {
        };
        get: operations["get_funnels"];
        post: operations["post_funnels"];
    };
    "/api/funnels/{id}": {
        parameters: {
        };
        get: operations["get_funnels_id"];
        delete: operations["delete_funnels_id"];
        patch: operations["patch_funnels_id"];
    };
    "/api/goals": {
        parameters: {
        };
        get: operations["get_goals"];
        post: operations["post_goals"];
    };
    "/api/goals/{id}": {
        parameters: {
        };
        get: operations["get_goals_id"];
        delete: operations["delete_goals_id"];
        patch: operations["patch_goals_id"];
    };
    "/api/imports": {
        parameters: {
        };
        get: operations["get_imports"];
        post: operations["post_imports"];
    };
    "/api/imports/{id}": {
        parameters: {
        };
        get: operations["get_imports_id"];
        delete: operations["delete_imports_id"];
    };
    "/api/invitations/accept": {
        parameters: {
        };
        post: operations["post_invitations_accept"];
    };
    "/api/keys": {
        parameters: {
        };
        get: operations["get_keys"];
        post: operations["post_keys"];
    };
    "/api/keys/{id}": {
        parameters: {
        };
        delete: operations["delete_keys_id"];
    };
    "/api/keys/{id}/usage": {
        parameters: {
        };
        get: operations["get_keys_id_usage"];
    };
    "/api/log/edge": {
        parameters: {
        };
        post: operations["post_log_edge"];
    };
    "/api/orgs": {
        parameters: {
        };
        get: operations["get_orgs"];
        post: operations["post_orgs"];
    };
    "/api/orgs/{id}": {
        parameters: {
        };
        get: operations["get_orgs_id"];
        delete: operations["delete_orgs_id"];
        patch: operations["patch_orgs_id"];
    };
    "/api/orgs/{id}/audit": {
        parameters: {
        };
        get: operations["get_orgs_id_audit"];
    };
    "/api/orgs/{id}/invitations": {
        parameters: {
        };
        get: operations["get_orgs_id_invitations"];
        post: operations["post_orgs_id_invitations"];
    };
    "/api/orgs/{id}/invitations/{invitation}": {
        parameters: {
        };
        delete: operations["delete_orgs_id_invitations_invitation"];
    };
    "/api/orgs/{id}/members": {
        parameters: {
        };
        get: operations["get_orgs_id_members"];
    };
    "/api/orgs/{id}/members/{user}": {
        parameters: {
        };
        delete: operations["delete_orgs_id_members_user"];
        patch: operations["patch_orgs_id_members_user"];
    };
    "/api/orgs/{id}/restore": {
        parameters: {
        };
        post: operations["post_orgs_id_restore"];
    };
    "/api/orgs/{id}/transfer": {
        parameters: {
        };
        post: operations["post_orgs_id_transfer"];
    };
    "/api/phantom-links": {
        parameters: {
        };
        get: operations["get_phantom_links"];
    };
    "/api/policy": {
        parameters: {
        };
        get: operations["get_policy"];
    };
    "/api/policy/presets": {
        parameters: {
        };
        get: operations["get_policy_presets"];
    };
    "/api/policy/rehearsal": {
        parameters: {
        };
        post: operations["post_policy_rehearsal"];
    };
    "/api/policy/versions": {
        parameters: {
        };
        get: operations["get_policy_versions"];
    };
    "/api/policy/violations": {
        parameters: {
        };
        get: operations["get_policy_violations"];
    };
    "/api/policy/violations/agents": {
        parameters: {
        };
        get: operations["get_policy_violations_agents"];
    };
    "/api/policy/violations/pages": {
        parameters: {
        };
        get: operations["get_policy_violations_pages"];
    };
    "/api/policy/violations/rules": {
        parameters: {
        };
        get: operations["get_policy_violations_rules"];
    };
    "/api/redirects": {
        parameters: {
        };
        get: operations["get_redirects"];
        post: operations["post_redirects"];
    };
    "/api/redirects/{id}": {
        parameters: {
        };
        get: operations["get_redirects_id"];
        delete: operations["delete_redirects_id"];
        patch: operations["patch_redirects_id"];
    };
    "/api/redirects/export": {
        parameters: {
        };
        get: operations["get_redirects_export"];
    };
    "/api/reports": {
        parameters: {
        };
        get: operations["get_reports"];
        post: operations["post_reports"];
    };
    "/api/reports/{id}": {
        parameters: {
        };
        get: operations["get_reports_id"];
        delete: operations["delete_reports_id"];
        patch: operations["patch_reports_id"];
    };
    "/api/reports/{id}/deliveries": {
        parameters: {
        };
        get: operations["get_reports_id_deliveries"];
    };
    "/api/reports/{id}/test": {
        parameters: {
        };
        post: operations["post_reports_id_test"];
    };
    "/api/robots-texts": {
        parameters: {
        };
        get: operations["get_robots_texts"];
        post: operations["post_robots_texts"];
        delete: operations["delete_robots_texts"];
    };
    "/api/rules": {
        parameters: {
        };
        get: operations["get_rules"];
        post: operations["post_rules"];
    };
    "/api/rules/{id}": {
        parameters: {
        };
        get: operations["get_rules_id"];
        delete: operations["delete_rules_id"];
        patch: operations["patch_rules_id"];
    };
    "/api/rules/export": {
        parameters: {
        };
        get: operations["get_rules_export"];
    };
    "/api/rules/pause": {
        parameters: {
        };
        post: operations["post_rules_pause"];
    };
    "/api/rules/rehearsal": {
        parameters: {
        };
        post: operations["post_rules_rehearsal"];
    };
    "/api/rules/resume": {
        parameters: {
        };
        post: operations["post_rules_resume"];
    };
    "/api/rules/state": {
        parameters: {
        };
        get: operations["get_rules_state"];
    };
    "/api/segments": {
        parameters: {
        };
        get: operations["get_segments"];
        post: operations["post_segments"];
    };
    "/api/segments/{id}": {
        parameters: {
        };
        get: operations["get_segments_id"];
        delete: operations["delete_segments_id"];
        patch: operations["patch_segments_id"];
    };
    "/api/share/{slug}": {
        parameters: {
        };
        get: operations["get_share_slug"];
    };
    "/api/share/{slug}/badge.svg": {
        parameters: {
        };
        get: operations["get_share_slug_badge_svg"];
    };
    "/api/share/{slug}/unlock": {
        parameters: {
        };
        post: operations["post_share_slug_unlock"];
    };
    "/api/shares": {
        parameters: {
        };
        get: operations["get_shares"];
        post: operations["post_shares"];
    };
    "/api/shares/{id}": {
        parameters: {
        };
        get: operations["get_shares_id"];
        delete: operations["delete_shares_id"];
        patch: operations["patch_shares_id"];
    };
    "/api/sites": {
        parameters: {
        };
        get: operations["get_sites"];
        post: operations["post_sites"];
    };
    "/api/sites/{id}": {
        parameters: {
        };
        get: operations["get_sites_id"];
        delete: operations["delete_sites_id"];
        patch: operations["patch_sites_id"];
    };
    "/api/sites/{id}/drops": {
        parameters: {
        };
        get: operations["get_sites_id_drops"];
    };
    "/api/sites/{id}/history": {
        parameters: {
        };
        get: operations["get_sites_id_history"];
        post: operations["post_sites_id_history"];
    };
    "/api/sites/{id}/history/{history}": {
        parameters: {
        };
        delete: operations["delete_sites_id_history_history"];
    };
    "/api/sites/{id}/indexnow": {
        parameters: {
        };
        get: operations["get_sites_id_indexnow"];
    };
    "/api/sites/{id}/ingest-key": {
        parameters: {
        };
        get: operations["get_sites_id_ingest_key"];
    };
    "/api/sites/{id}/ingest-key/rotate": {
        parameters: {
        };
        post: operations["post_sites_id_ingest_key_rotate"];
    };
    "/api/sites/{id}/refused-hostnames": {
        parameters: {
        };
        get: operations["get_sites_id_refused_hostnames"];
    };
    "/api/sites/{id}/sections": {
        parameters: {
        };
        get: operations["get_sites_id_sections"];
    };
    "/api/stats/breakdown": {
        parameters: {
        };
        get: operations["get_stats_breakdown"];
    };
    "/api/stats/changes": {
        parameters: {
        };
        get: operations["get_stats_changes"];
    };
    "/api/stats/devices": {
        parameters: {
        };
        get: operations["get_stats_devices"];
    };
    "/api/stats/dimensions": {
        parameters: {
        };
        get: operations["get_stats_dimensions"];
    };
    "/api/stats/errors": {
        parameters: {
        };
        get: operations["get_stats_errors"];
    };
    "/api/stats/events": {
        parameters: {
        };
        get: operations["get_stats_events"];
    };
    "/api/stats/export.csv": {
        parameters: {
        };
        get: operations["get_stats_export_csv"];
    };
    "/api/stats/export.pdf": {
        parameters: {
        };
        get: operations["get_stats_export_pdf"];
    };
    "/api/stats/funnel/{id}": {
        parameters: {
        };
        get: operations["get_stats_funnel_id"];
    };
    "/api/stats/goals": {
        parameters: {
        };
        get: operations["get_stats_goals"];
    };
    "/api/stats/hours": {
        parameters: {
        };
        get: operations["get_stats_hours"];
    };
    "/api/stats/journeys": {
        parameters: {
        };
        get: operations["get_stats_journeys"];
    };
    "/api/stats/journeys/steps": {
        parameters: {
        };
        get: operations["get_stats_journeys_steps"];
    };
    "/api/stats/locations": {
        parameters: {
        };
        get: operations["get_stats_locations"];
    };
    "/api/stats/overview": {
        parameters: {
        };
        get: operations["get_stats_overview"];
    };
    "/api/stats/pages": {
        parameters: {
        };
        get: operations["get_stats_pages"];
    };
    "/api/stats/performance": {
        parameters: {
        };
        get: operations["get_stats_performance"];
    };
    "/api/stats/realtime": {
        parameters: {
        };
        get: operations["get_stats_realtime"];
    };
    "/api/stats/realtime/stream": {
        parameters: {
        };
        get: operations["get_stats_realtime_stream"];
    };
    "/api/stats/retention": {
        parameters: {
        };
        get: operations["get_stats_retention"];
    };
    "/api/stats/sessions": {
        parameters: {
        };
        get: operations["get_stats_sessions"];
    };
    "/api/stats/sessions/{id}": {
        parameters: {
        };
        get: operations["get_stats_sessions_id"];
    };
    "/api/stats/sources": {
        parameters: {
        };
        get: operations["get_stats_sources"];
    };
    "/api/stats/suspected": {
        parameters: {
        };
        get: operations["get_stats_suspected"];
    };
    "/api/stats/timeseries": {
        parameters: {
        };
        get: operations["get_stats_timeseries"];
    };
    "/api/stats/visitors": {
        parameters: {
        };
        get: operations["get_stats_visitors"];
    };
    "/api/track": {
        parameters: {
        };
        post: operations["post_track"];
    };
    "/api/track/batch": {
        parameters: {
        };
        post: operations["post_track_batch"];
    };
    "/api/track/pixel.gif": {
        parameters: {
        };
        get: operations["get_track_pixel_gif"];
    };
    "/api/visitors/{id}": {
        parameters: {
        };
        delete: operations["delete_visitors_id"];
    };
    "/confirm-email": {
        parameters: {
        };
        get: operations["get_confirm_email"];
        post: operations["post_confirm_email"];
    };
    "/healthz": {
        parameters: {
        };
        get: operations["get_healthz"];
    };
    "/invitation": {
        parameters: {
        };
        get: operations["get_invitation"];
        post: operations["post_invitation"];
    };
    "/metrics": {
        parameters: {
        };
        get: operations["get_metrics"];
    };
    "/readyz": {
        parameters: {
        };
        get: operations["get_readyz"];
    };
    "/register": {
        parameters: {
        };
        get: operations["get_register"];
        post: operations["post_register"];
    };
    "/reset-password": {
        parameters: {
        };
        get: operations["get_reset_password"];
        post: operations["post_reset_password"];
    };
    "/sign-in": {
        parameters: {
        };
        get: operations["get_sign_in"];
        post: operations["post_sign_in"];
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Condition: {
            case_sensitive?: boolean;
            dimension: ("hostname" | "pathname" | "section" | "entry_page" | "exit_page" | "referrer" | "source" | "referrer_spam" | "channel" | "utm_source" | "utm_medium" | "utm_campaign" | "utm_content" | "utm_term" | "country" | "region" | "city" | "asn" | "browser" | "browser_version" | "os" | "os_version" | "device_type" | "screen_class" | "language" | "event_name" | "kind" | "goal" | "scroll" | "duration" | "visitor_id" | "identified_id" | "suspected" | "agent_id" | "operator" | "purpose" | "verified" | "verification" | "status" | "method" | "content_type" | "accepts" | "user_agent" | "robots_allowed" | "llms_listed" | "conditional" | "action" | "rule") | string;
            /** @enum {string} */
            op: "is" | "is_not" | "contains" | "contains_not" | "starts_with" | "starts_with_not" | "ends_with" | "ends_with_not" | "matches" | "matches_not" | "matches_wildcard" | "matches_wildcard_not" | "is_set" | "is_not_set" | "gt" | "gte" | "lt" | "lte" | "between";
            value?: (string | number | boolean) | (string | number | boolean)[];
        };
        Error: {
            error: {
                /** @enum {string} */
                code: "bad_request" | "validation_error" | "unauthorized" | "forbidden" | "not_found" | "conflict" | "rate_limited" | "internal_error" | "upstream_error" | "database_error";
                field?: string;
                message: string;
            };
        };
        EvidenceDocument: {
            agent: {
                agent_id: string;
                docs_url: string | null;
                name: string;
                operator: string | null;
                /** @enum {string} */
                respects_robots: "yes" | "no" | "unknown";
            };
            counts: {
                after_reading: number;
                bytes: number;
                disallowed: number;
                fetches: number;
                imported: number;
                in_grace: number;
                left_out: number;
                refused: number;
                rows_sha256: string;
                spoofed: number;
            };
            fetches: {
                action: string | null;
                at: string;
                bytes: number;
                content_type: string | null;
                hostname: string;
                imported: boolean;
                line: number | null;
                method: string;
                pathname: string;
                pattern: string | null;
                proof: string | null;
                proof_at: string | null;
                read_active_version: boolean | null;
                /** @enum {string} */
                robots: "disallowed" | "disallowed_in_grace" | "allowed" | "not_judged";
                robots_read_at: string | null;
                rule: number | null;
                status: number;
                user_agent: string;
                verification: string;
            }[];
            /** @constant */
            format: "readership-evidence-1";
            identity: {
                fetches: number;
                first: string;
                last: string;
                oldest_s: number | null;
                proof: string | null;
                verification: string;
            }[];
            limits: string[];
            made_at: string;
            made_by: string;
            not_recorded: {
                end: string;
                reason: string;
                start: string;
            }[];
            own_rules: {
                action: string;
                changed_at: string | null;
                definition: unknown;
                fetches: number;
                first: string;
                id: number;
                last: string;
                name: string | null;
            }[];
            robots_reads: {
                at: string;
                hostname: string;
                status: number;
                user_agent: string;
                verification: string;
            }[];
            robots_reads_left_out: number;
            robots_txt: {
                hostname: string;
                is_exact: boolean;
                sha256: string;
                since: string;
                status: number;
                text: string | null;
                until: string;
            }[];
            rules: {
                fetches: number;
                first: string;
                hostname: string;
                last: string;
                line: number | null;
                line_text: string | null;
                pattern: string | null;
                sha256: string | null;
            }[];
            served: {
                content_type: string | null;
                fetches: number;
                first: string;
                last: string;
                status: number;
            }[];
            site: {
                id: number;
                name: string;
                timezone: string;
            };
            statements: string[];
            user_agents: {
                fetches: number;
                first: string;
                last: string;
                user_agent: string;
            }[];
            window: {
                end: string;
                start: string;
            };
        };
        Filter: components["schemas"]["Condition"] | {
            and: components["schemas"]["Filter"][];
        } | {
            or: components["schemas"]["Filter"][];
        } | {
            not: components["schemas"]["Filter"];
        } | {
            has_done: components["schemas"]["Filter"];
        } | {
            has_not_done: components["schemas"]["Filter"];
        };
        Filters: components["schemas"]["Filter"][] | components["schemas"]["Filter"];
        Meta: {
            comparison?: {
                end: string;
                start: string;
            };
            limit?: number;
            page?: number;
            query: {
                [key: string]: unknown;
            };
            recorded?: {
                comparison?: {
                    end: string;
                    joined?: number;
                    /** @enum {string} */
                    reason: "not_running" | "rows_lost" | "clock_changed";
                    start: string;
                }[];
                gaps: {
                    end: string;
                    joined?: number;
                    /** @enum {string} */
                    reason: "not_running" | "rows_lost" | "clock_changed";
                    start: string;
                }[];
                since?: string;
            };
            rows: number;
            sampled: boolean;
            took_ms: number;
            total?: number;
            warnings?: {
                code: string;
                dimension?: string;
                message: string;
                metric?: string;
                nearest?: string;
                value?: string;
            }[];
        };
    };
    responses: {
        Error: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        agent_id: string;
        align: string;
        audience: "human" | "agent" | "all";
        audience_: "human" | "agent" | "all";
        audience__: "human" | "agent" | "all";
        audience___: "human" | "agent" | "all";
        audience____: "human" | "agent" | "all";
        by: string;
        compare: "none" | "previous" | "year";
        depth: string;
        dimension: string;
        end: string;
        filters: string;
        granularity: "minute" | "hour" | "day" | "week" | "month";
        hostname: string;
        hostname_: string;
        hours: string;
        id: number;
        kind: string;
        lang: string;
        limit: number;
        limit_: number;
        metric: string;
        minutes: number;
        minutes_: string;
        name: string;
        next: string;
        operator: string;
        operator_: string;
        order: string;
        outcome: string;
        page: number;
        path: string;
        per: string;
        property: string;
        range: "today" | "yesterday" | "24h" | "7d" | "30d" | "90d" | "12mo" | "mtd" | "ytd" | "all";
        segment: string;
        severity: "breach" | "unbound" | "unclear" | "unverified" | "grace";
        severity_: string;
        site: number;
        site_: number;
        slug: string;
        start: string;
        step: string;
        steps: string;
        suspected: "include" | "exclude";
        token: string;
        tz: string;
        user: number;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    get_agents_breakdown: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience___"];
                compare?: components["parameters"]["compare"];
                dimension: string;
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents?: number;
                            bytes?: number;
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            fetches?: number;
                            indeterminate?: number;
                            last_seen: string;
                            name?: string;
                            operator?: string;
                            pageviews?: number;
                            purpose?: string;
                            spoofed?: number;
                            unverifiable?: number;
                            value?: string | number | boolean;
                            verified?: number;
                            verified_fetches?: number;
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_agents_catalog: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience___"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agent_id: string;
                            docs_url: string;
                            name: string;
                            operator: string;
                            purpose: string;
                            ranges?: {
                                count: number;
                                refreshed_at: string;
                                source: string;
                                stale?: boolean;
                            };
                            /** @enum {string} */
                            respects_robots: "yes" | "no" | "unknown";
                            robots_token?: string;
                            seen?: {
                                fetches: number;
                                last_seen: string;
                            };
                            verification: ("ranges" | "rdns" | "web_bot_auth")[];
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_agents_coverage: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience___"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                order?: "fetches" | "stale";
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents: string[];
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            fetches?: number;
                            first_crawl?: string;
                            freshness_gap?: number;
                            hostname: string;
                            in_sitemap: boolean;
                            last_crawl?: string;
                            last_status?: number;
                            llms_listed?: 0 | 1;
                            pageviews?: number;
                            pathname: string;
                            robots_allowed?: boolean;
                            spoofed?: number;
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_agents_formats: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience___"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents: {
                                agent_id: string;
                                fetches: number;
                                markdown_asked?: number;
                                markdown_served?: number;
                                markdown_share?: number;
                                name: string;
                                pairs: {
                                    accepts?: string;
                                    fetches: number;
                                    /** @enum {string} */
                                    served?: "html" | "markdown" | "json" | "text" | "other";
                                }[];
                                twins: number;
                                unknown?: number;
                            }[];
                            fetches: number;
                            markdown_asked?: number;
                            markdown_served?: number;
                            markdown_share?: number;
                            pages: {
                                agents: number;
                                fetches: number;
                                hostname: string;
                                pathname: string;
                            }[];
                            pairs: {
                                accepts?: string;
                                fetches: number;
                                /** @enum {string} */
                                served?: "html" | "markdown" | "json" | "text" | "other";
                            }[];
                            twin_pages: {
                                agents: number;
                                fetches: number;
                                hostname: string;
                                pathname: string;
                            }[];
                            twins: number;
                            unknown?: number;
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_agents_llms_links: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience___"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                hostname?: components["parameters"]["hostname"];
                hours?: number;
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents: {
                                agent_id: string;
                                fetches?: number;
                                full_reads: number;
                                last_read?: string;
                                links?: number;
                                name: string;
                                reads: number;
                                seconds?: number;
                                steps: {
                                    fetches: number;
                                    follows: number;
                                    pathname: string;
                                    place: number;
                                    seconds: number;
                                }[];
                            }[];
                            followers?: number;
                            full_reads: number;
                            hostname?: string;
                            links: {
                                agents: number;
                                current: boolean;
                                fetches: number;
                                follows: number;
                                pathname: string;
                                place?: number;
                                seconds?: number;
                                section: string;
                                title: string;
                            }[];
                            listed?: number;
                            readers: number;
                            reads: number;
                            unfollowed?: number;
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_agents_overview: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience___"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents?: number;
                            bytes?: number;
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            fetches?: number;
                            indeterminate?: number;
                            operators: {
                                bytes?: number;
                                change?: {
                                    [key: string]: number;
                                };
                                comparison?: {
                                    [key: string]: number;
                                };
                                fetches?: number;
                                indeterminate?: number;
                                operator: string;
                                spoofed?: number;
                                unverifiable?: number;
                                verified?: number;
                                verified_fetches?: number;
                            }[];
                            spoofed?: number;
                            unverifiable?: number;
                            verified?: number;
                            verified_fetches?: number;
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_agents_timeseries: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience___"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            /** @enum {string} */
                            granularity: "minute" | "hour" | "day" | "week" | "month";
                            series: {
                                agent_id: string;
                                buckets: {
                                    /** @constant */
                                    partial?: true;
                                    t: string;
                                    value?: number;
                                }[];
                                change?: {
                                    [key: string]: number;
                                };
                                comparison?: {
                                    [key: string]: number;
                                };
                                fetches?: number;
                                name: string;
                                operator?: string;
                                spoofed?: number;
                            }[];
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_alerts: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            /** @enum {string} */
                            audience: "human" | "agent" | "all";
                            channels: {
                                target: string;
                                /** @enum {string} */
                                type: "webhook" | "email";
                            }[];
                            enabled: boolean;
                            filters: {
                                [key: string]: unknown;
                            }[];
                            id: number;
                            /** @enum {string} */
                            kind: "threshold" | "change" | "new_agent" | "unverified_agent" | "policy_violation" | "policy_changed" | "agent_errors" | "budget" | "old_edition";
                            last_fired_at?: string;
                            metric?: string;
                            name: string;
                            /** @enum {string} */
                            op: "gt" | "gte" | "lt" | "lte";
                            site: number;
                            value: number;
                            version: number;
                            window_minutes: number;
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_alerts: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    audience?: "human" | "agent" | "all";
                    channels: ({
                        target: string;
                        /** @constant */
                        type: "webhook";
                    } | {
                        target: string;
                        /** @constant */
                        type: "email";
                    })[];
                    enabled?: boolean;
                    filters?: unknown[] | {
                        [key: string]: unknown;
                    };
                    /** @enum {string} */
                    kind: "threshold" | "change" | "new_agent" | "unverified_agent" | "policy_violation" | "policy_changed" | "agent_errors" | "budget" | "old_edition";
                    metric?: string;
                    name: string;
                    /** @enum {string} */
                    op?: "gt" | "gte" | "lt" | "lte";
                    site: number;
                    value?: number;
                    window_minutes?: number;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            /** @enum {string} */
                            audience: "human" | "agent" | "all";
                            channels: {
                                target: string;
                                /** @enum {string} */
                                type: "webhook" | "email";
                            }[];
                            enabled: boolean;
                            filters: {
                                [key: string]: unknown;
                            }[];
                            id: number;
                            /** @enum {string} */
                            kind: "threshold" | "change" | "new_agent" | "unverified_agent" | "policy_violation" | "policy_changed" | "agent_errors" | "budget" | "old_edition";
                            last_fired_at?: string;
                            metric?: string;
                            name: string;
                            /** @enum {string} */
                            op: "gt" | "gte" | "lt" | "lte";
                            secret: string;
                            site: number;
                            value: number;
                            version: number;
                            window_minutes: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_alerts_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            /** @enum {string} */
                            audience: "human" | "agent" | "all";
                            channels: {
                                target: string;
                                /** @enum {string} */
                                type: "webhook" | "email";
                            }[];
                            enabled: boolean;
                            filters: {
                                [key: string]: unknown;
                            }[];
                            id: number;
                            /** @enum {string} */
                            kind: "threshold" | "change" | "new_agent" | "unverified_agent" | "policy_violation" | "policy_changed" | "agent_errors" | "budget" | "old_edition";
                            last_fired_at?: string;
                            metric?: string;
                            name: string;
                            /** @enum {string} */
                            op: "gt" | "gte" | "lt" | "lte";
                            site: number;
                            value: number;
                            version: number;
                            window_minutes: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_alerts_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    patch_alerts_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    audience?: ("human" | "agent" | "all") | null;
                    channels?: ({
                        target: string;
                        /** @constant */
                        type: "webhook";
                    } | {
                        target: string;
                        /** @constant */
                        type: "email";
                    })[];
                    enabled?: boolean;
                    filters?: unknown[] | {
                        [key: string]: unknown;
                    };
                    /** @enum {string} */
                    kind?: "threshold" | "change" | "new_agent" | "unverified_agent" | "policy_violation" | "policy_changed" | "agent_errors" | "budget" | "old_edition";
                    metric?: string | null;
                    name?: string;
                    op?: ("gt" | "gte" | "lt" | "lte") | null;
                    value?: number | null;
                    window_minutes?: number;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            /** @enum {string} */
                            audience: "human" | "agent" | "all";
                            channels: {
                                target: string;
                                /** @enum {string} */
                                type: "webhook" | "email";
                            }[];
                            enabled: boolean;
                            filters: {
                                [key: string]: unknown;
                            }[];
                            id: number;
                            /** @enum {string} */
                            kind: "threshold" | "change" | "new_agent" | "unverified_agent" | "policy_violation" | "policy_changed" | "agent_errors" | "budget" | "old_edition";
                            last_fired_at?: string;
                            metric?: string;
                            name: string;
                            /** @enum {string} */
                            op: "gt" | "gte" | "lt" | "lte";
                            site: number;
                            value: number;
                            version: number;
                            window_minutes: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_alerts_id_deliveries: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            attempts: number;
                            channel: {
                                target: string;
                                /** @enum {string} */
                                type: "webhook" | "email";
                            };
                            created_at: string;
                            done_at?: string;
                            id: number;
                            key: string;
                            last_error?: string;
                            next_at?: string;
                            /** @enum {string} */
                            state: "waiting" | "sending" | "done" | "failed";
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_alerts_id_rotate_secret: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            id: number;
                            secret: string;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_alerts_id_test: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            queued: number;
                        };
                        meta: {
                            warnings: {
                                code: string;
                                message: string;
                            }[];
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_annotations: {
        parameters: {
            query: {
                end?: string;
                site: components["parameters"]["site_"];
                start?: string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            at: string;
                            by: string;
                            data?: {
                                agent_id?: string;
                                assets?: string[];
                                before?: {
                                    sha256?: string;
                                    /** @enum {string} */
                                    state?: "off" | "rehearse" | "on";
                                    status?: number;
                                    version?: string;
                                };
                                end?: string;
                                errors?: number;
                                file?: string;
                                hostname?: string;
                                name?: string;
                                operator?: string;
                                pathname?: string;
                                paused?: boolean;
                                /** @description Responses of the site from `start` to `end`. */
                                responses?: number;
                                rule?: number;
                                sha256?: string;
                                start?: string;
                                /** @enum {string} */
                                state?: "off" | "rehearse" | "on";
                                status?: number;
                                statuses?: {
                                    [key: string]: number;
                                };
                                verification?: string;
                                version?: string;
                            };
                            id: number;
                            /** @enum {string} */
                            kind: "note" | "policy_changed" | "not_recorded" | "first_visit" | "server_errors" | "deployment" | "catalog_updated" | "rule_changed" | "rules_paused" | "blank_page";
                            site: number;
                            text: string;
                            version: number;
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_annotations: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    at: string;
                    site: number;
                    text: string;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            at: string;
                            by: string;
                            data?: {
                                agent_id?: string;
                                assets?: string[];
                                before?: {
                                    sha256?: string;
                                    /** @enum {string} */
                                    state?: "off" | "rehearse" | "on";
                                    status?: number;
                                    version?: string;
                                };
                                end?: string;
                                errors?: number;
                                file?: string;
                                hostname?: string;
                                name?: string;
                                operator?: string;
                                pathname?: string;
                                paused?: boolean;
                                /** @description Responses of the site from `start` to `end`. */
                                responses?: number;
                                rule?: number;
                                sha256?: string;
                                start?: string;
                                /** @enum {string} */
                                state?: "off" | "rehearse" | "on";
                                status?: number;
                                statuses?: {
                                    [key: string]: number;
                                };
                                verification?: string;
                                version?: string;
                            };
                            id: number;
                            /** @enum {string} */
                            kind: "note" | "policy_changed" | "not_recorded" | "first_visit" | "server_errors" | "deployment" | "catalog_updated" | "rule_changed" | "rules_paused" | "blank_page";
                            site: number;
                            text: string;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_annotations_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            at: string;
                            by: string;
                            data?: {
                                agent_id?: string;
                                assets?: string[];
                                before?: {
                                    sha256?: string;
                                    /** @enum {string} */
                                    state?: "off" | "rehearse" | "on";
                                    status?: number;
                                    version?: string;
                                };
                                end?: string;
                                errors?: number;
                                file?: string;
                                hostname?: string;
                                name?: string;
                                operator?: string;
                                pathname?: string;
                                paused?: boolean;
                                /** @description Responses of the site from `start` to `end`. */
                                responses?: number;
                                rule?: number;
                                sha256?: string;
                                start?: string;
                                /** @enum {string} */
                                state?: "off" | "rehearse" | "on";
                                status?: number;
                                statuses?: {
                                    [key: string]: number;
                                };
                                verification?: string;
                                version?: string;
                            };
                            id: number;
                            /** @enum {string} */
                            kind: "note" | "policy_changed" | "not_recorded" | "first_visit" | "server_errors" | "deployment" | "catalog_updated" | "rule_changed" | "rules_paused" | "blank_page";
                            site: number;
                            text: string;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_annotations_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    patch_annotations_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    at?: string;
                    text?: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            at: string;
                            by: string;
                            data?: {
                                agent_id?: string;
                                assets?: string[];
                                before?: {
                                    sha256?: string;
                                    /** @enum {string} */
                                    state?: "off" | "rehearse" | "on";
                                    status?: number;
                                    version?: string;
                                };
                                end?: string;
                                errors?: number;
                                file?: string;
                                hostname?: string;
                                name?: string;
                                operator?: string;
                                pathname?: string;
                                paused?: boolean;
                                /** @description Responses of the site from `start` to `end`. */
                                responses?: number;
                                rule?: number;
                                sha256?: string;
                                start?: string;
                                /** @enum {string} */
                                state?: "off" | "rehearse" | "on";
                                status?: number;
                                statuses?: {
                                    [key: string]: number;
                                };
                                verification?: string;
                                version?: string;
                            };
                            id: number;
                            /** @enum {string} */
                            kind: "note" | "policy_changed" | "not_recorded" | "first_visit" | "server_errors" | "deployment" | "catalog_updated" | "rule_changed" | "rules_paused" | "blank_page";
                            site: number;
                            text: string;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_answers: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience____"];
                by?: "page" | "operator" | "page_operator";
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                minutes?: components["parameters"]["minutes"];
                operator?: components["parameters"]["operator"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            arrivals?: number;
                            change?: {
                                [key: string]: number;
                            };
                            cited?: number;
                            comparison?: {
                                [key: string]: number;
                            };
                            delay?: number;
                            delays?: number[];
                            fetches?: number;
                            followed?: number;
                            followed_same_page?: number;
                            goals?: number;
                            hostname?: string;
                            not_followed?: number;
                            operator?: string;
                            other_page?: number;
                            pathname?: string;
                            same_page?: number;
                            search_clicks?: number;
                            search_impressions?: number;
                            stay?: number;
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_answers_summary: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience____"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                minutes?: components["parameters"]["minutes"];
                operator?: components["parameters"]["operator"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            arrivals?: number;
                            by_delay: {
                                arrivals: number;
                                chance?: number;
                                from: number;
                                to: number;
                            }[];
                            chance?: number;
                            chance_followed?: number;
                            chance_followed_same_page?: number;
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            delay?: number;
                            delays?: number[];
                            fetches?: number;
                            followed?: number;
                            followed_same_page?: number;
                            goals?: number;
                            not_followed?: number;
                            other_page?: number;
                            same_page?: number;
                            stay?: number;
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_auth_change_email: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    email: string;
                    password?: string;
                };
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            mail_server: boolean;
                            /** @constant */
                            sent: true;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_auth_change_password: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    current_password?: string;
                    password: string;
                };
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    post_auth_confirm_email: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    token: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            email: string;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_auth_forgot_password: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    email: string;
                };
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            mail_server: boolean;
                            /** @constant */
                            sent: true;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_auth_link: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    token: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            mail_server: boolean;
                            organisations: {
                                id: number;
                                locked: boolean;
                                name: string;
                                /** @enum {string} */
                                role: "owner" | "admin" | "member" | "viewer";
                            }[];
                            session: {
                                agent?: string;
                                created_at: string;
                                current: boolean;
                                id: number;
                                ip?: string;
                                last_seen_at: string;
                            };
                            sites: {
                                currency: string;
                                domains: string[];
                                id: number;
                                name: string;
                                org: number;
                                timezone: string;
                            }[];
                            user: {
                                created_at: string;
                                email: string;
                                has_password: boolean;
                                id: number;
                                name: string;
                                totp: boolean;
                            };
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_auth_login: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    email: string;
                    password: string;
                    totp?: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            mail_server: boolean;
                            organisations: {
                                id: number;
                                locked: boolean;
                                name: string;
                                /** @enum {string} */
                                role: "owner" | "admin" | "member" | "viewer";
                            }[];
                            session: {
                                agent?: string;
                                created_at: string;
                                current: boolean;
                                id: number;
                                ip?: string;
                                last_seen_at: string;
                            };
                            sites: {
                                currency: string;
                                domains: string[];
                                id: number;
                                name: string;
                                org: number;
                                timezone: string;
                            }[];
                            user: {
                                created_at: string;
                                email: string;
                                has_password: boolean;
                                id: number;
                                name: string;
                                totp: boolean;
                            };
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_auth_logout: {
        parameters: {
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    get_auth_me: {
        parameters: {
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            mail_server: boolean;
                            organisations: {
                                id: number;
                                locked: boolean;
                                name: string;
                                /** @enum {string} */
                                role: "owner" | "admin" | "member" | "viewer";
                            }[];
                            session: {
                                agent?: string;
                                created_at: string;
                                current: boolean;
                                id: number;
                                ip?: string;
                                last_seen_at: string;
                            };
                            sites: {
                                currency: string;
                                domains: string[];
                                id: number;
                                name: string;
                                org: number;
                                timezone: string;
                            }[];
                            user: {
                                created_at: string;
                                email: string;
                                has_password: boolean;
                                id: number;
                                name: string;
                                totp: boolean;
                            };
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_auth_me: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    password?: string;
                    totp?: string;
                };
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    patch_auth_me: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    name?: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            mail_server: boolean;
                            organisations: {
                                id: number;
                                locked: boolean;
                                name: string;
                                /** @enum {string} */
                                role: "owner" | "admin" | "member" | "viewer";
                            }[];
                            session: {
                                agent?: string;
                                created_at: string;
                                current: boolean;
                                id: number;
                                ip?: string;
                                last_seen_at: string;
                            };
                            sites: {
                                currency: string;
                                domains: string[];
                                id: number;
                                name: string;
                                org: number;
                                timezone: string;
                            }[];
                            user: {
                                created_at: string;
                                email: string;
                                has_password: boolean;
                                id: number;
                                name: string;
                                totp: boolean;
                            };
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_auth_register: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    email: string;
                    name: string;
                    organisation: string;
                    password: string;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            mail_server: boolean;
                            organisations: {
                                id: number;
                                locked: boolean;
                                name: string;
                                /** @enum {string} */
                                role: "owner" | "admin" | "member" | "viewer";
                            }[];
                            session: {
                                agent?: string;
                                created_at: string;
                                current: boolean;
                                id: number;
                                ip?: string;
                                last_seen_at: string;
                            };
                            sites: {
                                currency: string;
                                domains: string[];
                                id: number;
                                name: string;
                                org: number;
                                timezone: string;
                            }[];
                            user: {
                                created_at: string;
                                email: string;
                                has_password: boolean;
                                id: number;
                                name: string;
                                totp: boolean;
                            };
                        };
                    };
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    post_auth_reset_password: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    password: string;
                    token: string;
                };
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    get_auth_sessions: {
        parameters: {
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agent?: string;
                            created_at: string;
                            current: boolean;
                            id: number;
                            ip?: string;
                            last_seen_at: string;
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_auth_sessions: {
        parameters: {
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    delete_auth_sessions_id: {
        parameters: {
            path: {
                id: number;
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    post_auth_totp_confirm: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    totp: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            recovery_codes: string[];
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_auth_totp_disable: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    password?: string;
                    totp?: string;
                };
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    post_auth_totp_enroll: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    password?: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            qr: string;
                            secret: string;
                            uri: string;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_auth_totp_recovery_codes: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    password?: string;
                    totp?: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            recovery_codes: string[];
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_batch: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    requests: string[];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_bill: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience____"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                operator?: string;
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents?: {
                                agent_id: string;
                                bytes?: number;
                                cost?: number;
                                fetches?: number;
                                name: string;
                                origin_seconds?: number;
                                purpose: string;
                                without_bytes?: number;
                                without_duration?: number;
                            }[];
                            buckets: {
                                bytes?: number;
                                cost?: number;
                                fetches?: number;
                                origin_seconds?: number;
                                /** @constant */
                                partial?: true;
                                t: string;
                                without_bytes?: number;
                                without_duration?: number;
                            }[];
                            bytes?: number;
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            cost?: number;
                            currency: string;
                            disallowed_cost?: number;
                            disallowed_fetches: number;
                            disobedience: {
                                agent_id: string;
                                bytes?: number;
                                cost?: number;
                                fetches?: number;
                                name: string;
                                operator: string;
                                origin_seconds?: number;
                                /** @enum {string} */
                                severity: "breach" | "unbound" | "unclear" | "unverified" | "grace";
                                /** @constant */
                                spoofed?: true;
                                without_bytes?: number;
                                without_duration?: number;
                            }[];
                            fetches?: number;
                            goals?: number;
                            lines: {
                                bytes?: number;
                                change?: {
                                    [key: string]: number;
                                };
                                comparison?: {
                                    [key: string]: number;
                                };
                                cost?: number;
                                cost_per_reader?: number;
                                fetches?: number;
                                goals?: number;
                                /** @enum {string} */
                                kind: "operator" | "no_operator" | "spoofed";
                                /** @enum {string} */
                                no_cost_per_reader?: "no_prices" | "no_reader_came" | "no_operator";
                                operator?: string;
                                origin_seconds?: number;
                                readers?: number;
                                share?: number;
                                without_bytes?: number;
                                without_duration?: number;
                            }[];
                            origin_seconds?: number;
                            people_seconds: number;
                            price_per_gigabyte?: number;
                            price_per_origin_second?: number;
                            price_per_thousand_requests?: number;
                            readers?: number;
                            refused_bytes: number;
                            refused_fetches: number;
                            spoofed_bytes: number;
                            spoofed_fetches: number;
                            without_bytes?: number;
                            without_duration?: number;
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_blank_pages: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience____"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            fetches: number;
                            hostname: string;
                            living?: {
                                first_line?: string;
                                headings: number;
                                links: number;
                                seen: string;
                                text_length: number;
                            };
                            pathname: string;
                            problems: ("empty_shell" | "written_by_scripts" | "not_found" | "consent" | "challenge" | "other_text" | "agents_refused")[];
                            readers: number;
                            refusals: number;
                            refused: {
                                agent_id: string;
                                name: string;
                                refusals: number;
                            }[];
                            served?: {
                                canonical?: string;
                                first_line?: string;
                                headings: number;
                                lang?: string;
                                links: number;
                                seen: string;
                                text_length: number;
                                title?: string;
                            };
                            served_to_agents?: {
                                first_line?: string;
                                headings: number;
                                links: number;
                                seen: string;
                                text_length: number;
                            };
                            views: number;
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_citation_gap: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience____"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                operator?: components["parameters"]["operator"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            arrivals: number;
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            fetches: number;
                            hostname: string;
                            pathname: string;
                            ratio?: number;
                            /** @enum {string} */
                            verdict: "blocked" | "twin" | "unseen" | "insufficient" | "unfetched" | "gap" | "earning" | "balanced";
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_citation_gap_summary: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience____"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                operator?: components["parameters"]["operator"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            arrivals?: number;
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            fetches?: number;
                            median?: number;
                            operators: {
                                arrivals: number;
                                change?: {
                                    [key: string]: number;
                                };
                                comparison?: {
                                    [key: string]: number;
                                };
                                fetches: number;
                                operator?: string;
                                ratio?: number;
                            }[];
                            ratio?: number;
                            threshold: number;
                            urls: {
                                balanced: number;
                                blocked: number;
                                earning: number;
                                gap: number;
                                insufficient: number;
                                twin: number;
                                unfetched: number;
                                unseen: number;
                            };
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_content_decay: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience____"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents: {
                                before: number;
                                change?: number;
                                now: number;
                            };
                            hostname: string;
                            pathname: string;
                            people: {
                                adjusted?: number;
                                before: number;
                                change?: number;
                                now: number;
                            };
                            /** @enum {string} */
                            verdict: "decaying" | "fading" | "insufficient" | "blocked" | "steady";
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_edge_rules: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            sites: {
                                domains: string[];
                                managed_robots?: string;
                                paused_since?: string;
                                redirects: {
                                    from: string;
                                    status: 301 | 302 | 307 | 308;
                                    to: string;
                                }[];
                                robots: {
                                    body: string;
                                    hostname: string;
                                    status: number;
                                }[];
                                rules: {
                                    /** @enum {string} */
                                    action: "allow" | "block" | "pay" | "limit" | "gone";
                                    agents: string[];
                                    budget?: {
                                        /** @enum {string} */
                                        by: "agent" | "operator" | "address";
                                        limit: number;
                                        /** @enum {string} */
                                        per: "minute" | "hour" | "day";
                                        /** @enum {string} */
                                        unit: "fetches" | "bytes";
                                    };
                                    disallowed: boolean;
                                    except: string[];
                                    id: number;
                                    identity: ("verified" | "spoofed" | "unverifiable")[];
                                    license_url?: string;
                                    methods: string[];
                                    name: string;
                                    operators: string[];
                                    /**
                                     * @description Empty: every path. `*` matches within a segment, `**` across segments.
                                     * @default []
                                     */
                                    paths: (string & (unknown & unknown))[];
                                    purposes: string[];
                                    refuse_search_engines: boolean;
                                    /** @enum {string} */
                                    state: "off" | "rehearse" | "on";
                                    strict: boolean;
                                    text: {
                                        html?: string;
                                        json?: string;
                                        plain?: string;
                                    };
                                    until?: string;
                                }[];
                                site: number;
                                sitemaps: string[];
                                version: string;
                            }[];
                            version: string;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_editions: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience____"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents: {
                                agent_id: string;
                                last_read?: string;
                                name: string;
                                operator?: string;
                                /** @enum {string} */
                                state: "current" | "old" | "never" | "unknown";
                            }[];
                            at_stake: number;
                            changed_at?: string;
                            hostname: string;
                            lastmod?: string;
                            /** @enum {string} */
                            lastmod_verdict?: "agrees" | "missed" | "unfounded";
                            operators: {
                                last_read?: string;
                                operator: string;
                                readers: number;
                                /** @enum {string} */
                                state: "current" | "old" | "never" | "unknown";
                            }[];
                            pathname: string;
                            readers: number;
                            sampled_at: string;
                            sampled_since: string;
                            title?: string;
                            /** @constant */
                            varies?: true;
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_editions_summary: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience____"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents: {
                                agent_id: string;
                                changes: number;
                                delay?: number;
                                name: string;
                                operator?: string;
                                reread: number;
                            }[];
                            changed: number;
                            lastmod: {
                                agrees: number;
                                missed: number;
                                unfounded: number;
                            };
                            pages: number;
                            varying: number;
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_evidence: {
        parameters: {
            query: {
                agent: string;
                end?: string;
                range?: "today" | "yesterday" | "24h" | "7d" | "30d" | "90d" | "12mo" | "mtd" | "ytd" | "all";
                site: components["parameters"]["site_"];
                start?: string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["EvidenceDocument"];
                        meta: {
                            fingerprint: string | null;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_evidence: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    agent: string;
                    end?: string;
                    /** @enum {string} */
                    range?: "today" | "yesterday" | "24h" | "7d" | "30d" | "90d" | "12mo" | "mtd" | "ytd" | "all";
                    site: number;
                    start?: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/vnd.readership.evidence+json": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_evidence_key: {
        parameters: {
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/jwk+json": string;
                };
            };
        };
    };
    post_evidence_pdf: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
        };
        requestBody: {
            content: {
                "application/vnd.readership.evidence+json": string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/pdf": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_flags: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            enabled: boolean;
                            filters?: {
                                [key: string]: unknown;
                            }[];
                            id: number;
                            key: string;
                            rollout: number;
                            site: number;
                            variants?: {
                                key: string;
                                weight: number;
                            }[];
                            version: number;
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_flags: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    enabled?: boolean;
                    filters?: unknown[] | {
                        [key: string]: unknown;
                    };
                    key: string;
                    rollout?: number;
                    site: number;
                    variants?: {
                        key: string;
                        weight: number;
                    }[];
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            enabled: boolean;
                            filters?: {
                                [key: string]: unknown;
                            }[];
                            id: number;
                            key: string;
                            rollout: number;
                            site: number;
                            variants?: {
                                key: string;
                                weight: number;
                            }[];
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_flags_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            enabled: boolean;
                            filters?: {
                                [key: string]: unknown;
                            }[];
                            id: number;
                            key: string;
                            rollout: number;
                            site: number;
                            variants?: {
                                key: string;
                                weight: number;
                            }[];
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_flags_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    patch_flags_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    enabled?: boolean;
                    filters?: (unknown[] | {
                        [key: string]: unknown;
                    }) | null;
                    key?: string;
                    rollout?: number;
                    variants?: {
                        key: string;
                        weight: number;
                    }[] | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            enabled: boolean;
                            filters?: {
                                [key: string]: unknown;
                            }[];
                            id: number;
                            key: string;
                            rollout: number;
                            site: number;
                            variants?: {
                                key: string;
                                weight: number;
                            }[];
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_flags_evaluate: {
        parameters: {
            query: {
                id: string;
                site: components["parameters"]["site_"];
                u?: string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            flags: {
                                [key: string]: {
                                    enabled: boolean;
                                    variant?: string;
                                };
                            };
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_funnels: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            id: number;
                            name: string;
                            site: number;
                            steps: {
                                label: string;
                                match: {
                                    op: string;
                                    pathname?: {
                                        op: string;
                                        value?: string | number | boolean | (string | number)[];
                                    };
                                    props?: {
                                        key: string;
                                        op: string;
                                        value?: string | number | boolean | (string | number)[];
                                    }[];
                                    value?: string | number | boolean | (string | number)[];
                                };
                                /** @enum {string} */
                                type: "page" | "event" | "outbound" | "file_download" | "form" | "scroll";
                            }[];
                            version: number;
                            window_minutes?: number;
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_funnels: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    site: number;
                    steps: {
                        label: string;
                        match: {
                            op: string;
                            pathname?: {
                                op: string;
                                value?: string | number | boolean | (string | number)[];
                            };
                            props?: {
                                key: string;
                                op: string;
                                value?: string | number | boolean | (string | number)[];
                            }[];
                            value?: string | number | boolean | (string | number)[];
                        };
                        /** @enum {string} */
                        type: "page" | "event" | "outbound" | "file_download" | "form" | "scroll";
                    }[];
                    window_minutes?: number;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            id: number;
                            name: string;
                            site: number;
                            steps: {
                                label: string;
                                match: {
                                    op: string;
                                    pathname?: {
                                        op: string;
                                        value?: string | number | boolean | (string | number)[];
                                    };
                                    props?: {
                                        key: string;
                                        op: string;
                                        value?: string | number | boolean | (string | number)[];
                                    }[];
                                    value?: string | number | boolean | (string | number)[];
                                };
                                /** @enum {string} */
                                type: "page" | "event" | "outbound" | "file_download" | "form" | "scroll";
                            }[];
                            version: number;
                            window_minutes?: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_funnels_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            id: number;
                            name: string;
                            site: number;
                            steps: {
                                label: string;
                                match: {
                                    op: string;
                                    pathname?: {
                                        op: string;
                                        value?: string | number | boolean | (string | number)[];
                                    };
                                    props?: {
                                        key: string;
                                        op: string;
                                        value?: string | number | boolean | (string | number)[];
                                    }[];
                                    value?: string | number | boolean | (string | number)[];
                                };
                                /** @enum {string} */
                                type: "page" | "event" | "outbound" | "file_download" | "form" | "scroll";
                            }[];
                            version: number;
                            window_minutes?: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_funnels_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    patch_funnels_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    name?: string;
                    steps?: {
                        label: string;
                        match: {
                            op: string;
                            pathname?: {
                                op: string;
                                value?: string | number | boolean | (string | number)[];
                            };
                            props?: {
                                key: string;
                                op: string;
                                value?: string | number | boolean | (string | number)[];
                            }[];
                            value?: string | number | boolean | (string | number)[];
                        };
                        /** @enum {string} */
                        type: "page" | "event" | "outbound" | "file_download" | "form" | "scroll";
                    }[];
                    window_minutes?: number | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            id: number;
                            name: string;
                            site: number;
                            steps: {
                                label: string;
                                match: {
                                    op: string;
                                    pathname?: {
                                        op: string;
                                        value?: string | number | boolean | (string | number)[];
                                    };
                                    props?: {
                                        key: string;
                                        op: string;
                                        value?: string | number | boolean | (string | number)[];
                                    }[];
                                    value?: string | number | boolean | (string | number)[];
                                };
                                /** @enum {string} */
                                type: "page" | "event" | "outbound" | "file_download" | "form" | "scroll";
                            }[];
                            version: number;
                            window_minutes?: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_goals: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            id: number;
                            match: {
                                op: string;
                                pathname?: {
                                    op: string;
                                    value?: string | number | boolean | (string | number)[];
                                };
                                props?: {
                                    key: string;
                                    op: string;
                                    value?: string | number | boolean | (string | number)[];
                                }[];
                                value?: string | number | boolean | (string | number)[];
                            };
                            name: string;
                            revenue?: {
                                currency: string;
                                property: string;
                            };
                            site: number;
                            /** @enum {string} */
                            type: "page" | "event" | "outbound" | "file_download" | "form" | "scroll" | "duration";
                            version: number;
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_goals: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    match?: {
                        op: string;
                        pathname?: {
                            op: string;
                            value?: string | number | boolean | (string | number)[];
                        };
                        props?: {
                            key: string;
                            op: string;
                            value?: string | number | boolean | (string | number)[];
                        }[];
                        value?: string | number | boolean | (string | number)[];
                    };
                    name: string;
                    revenue?: {
                        currency: string;
                        property: string;
                    };
                    site: number;
                    /** @enum {string} */
                    type: "page" | "event" | "outbound" | "file_download" | "form" | "scroll" | "duration";
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            id: number;
                            match: {
                                op: string;
                                pathname?: {
                                    op: string;
                                    value?: string | number | boolean | (string | number)[];
                                };
                                props?: {
                                    key: string;
                                    op: string;
                                    value?: string | number | boolean | (string | number)[];
                                }[];
                                value?: string | number | boolean | (string | number)[];
                            };
                            name: string;
                            revenue?: {
                                currency: string;
                                property: string;
                            };
                            site: number;
                            /** @enum {string} */
                            type: "page" | "event" | "outbound" | "file_download" | "form" | "scroll" | "duration";
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_goals_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            id: number;
                            match: {
                                op: string;
                                pathname?: {
                                    op: string;
                                    value?: string | number | boolean | (string | number)[];
                                };
                                props?: {
                                    key: string;
                                    op: string;
                                    value?: string | number | boolean | (string | number)[];
                                }[];
                                value?: string | number | boolean | (string | number)[];
                            };
                            name: string;
                            revenue?: {
                                currency: string;
                                property: string;
                            };
                            site: number;
                            /** @enum {string} */
                            type: "page" | "event" | "outbound" | "file_download" | "form" | "scroll" | "duration";
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_goals_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    patch_goals_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    match?: {
                        op: string;
                        pathname?: {
                            op: string;
                            value?: string | number | boolean | (string | number)[];
                        };
                        props?: {
                            key: string;
                            op: string;
                            value?: string | number | boolean | (string | number)[];
                        }[];
                        value?: string | number | boolean | (string | number)[];
                    };
                    name?: string;
                    revenue?: {
                        currency: string;
                        property: string;
                    } | null;
                    /** @enum {string} */
                    type?: "page" | "event" | "outbound" | "file_download" | "form" | "scroll" | "duration";
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            id: number;
                            match: {
                                op: string;
                                pathname?: {
                                    op: string;
                                    value?: string | number | boolean | (string | number)[];
                                };
                                props?: {
                                    key: string;
                                    op: string;
                                    value?: string | number | boolean | (string | number)[];
                                }[];
                                value?: string | number | boolean | (string | number)[];
                            };
                            name: string;
                            revenue?: {
                                currency: string;
                                property: string;
                            };
                            site: number;
                            /** @enum {string} */
                            type: "page" | "event" | "outbound" | "file_download" | "form" | "scroll" | "duration";
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_imports: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agent: number;
                            broken: number;
                            created_at: string;
                            data_lines: number | null;
                            done: number;
                            ended_at: string | null;
                            first_at: string | null;
                            format: string | null;
                            human: number;
                            id: number;
                            known: number;
                            last_at: string | null;
                            lines: number;
                            own_salts: boolean;
                            reason: string | null;
                            site: number;
                            skipped: number;
                            source: string;
                            /** @enum {string} */
                            state: "running" | "done" | "failed" | "removing";
                            total: number | null;
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_imports: {
        parameters: {
            query: {
                data_paths?: string;
                format?: string;
                host?: string;
                name?: string;
                site: components["parameters"]["site_"];
                tz?: string;
            };
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agent: number;
                            broken: number;
                            created_at: string;
                            data_lines: number | null;
                            done: number;
                            ended_at: string | null;
                            first_at: string | null;
                            format: string | null;
                            human: number;
                            id: number;
                            known: number;
                            last_at: string | null;
                            lines: number;
                            own_salts: boolean;
                            reason: string | null;
                            site: number;
                            skipped: number;
                            source: string;
                            /** @enum {string} */
                            state: "running" | "done" | "failed" | "removing";
                            total: number | null;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_imports_id: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agent: number;
                            broken: number;
                            created_at: string;
                            data_lines: number | null;
                            done: number;
                            ended_at: string | null;
                            first_at: string | null;
                            format: string | null;
                            human: number;
                            id: number;
                            known: number;
                            last_at: string | null;
                            lines: number;
                            own_salts: boolean;
                            reason: string | null;
                            site: number;
                            skipped: number;
                            source: string;
                            /** @enum {string} */
                            state: "running" | "done" | "failed" | "removing";
                            total: number | null;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_imports_id: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agent: number;
                            broken: number;
                            created_at: string;
                            data_lines: number | null;
                            done: number;
                            ended_at: string | null;
                            first_at: string | null;
                            format: string | null;
                            human: number;
                            id: number;
                            known: number;
                            last_at: string | null;
                            lines: number;
                            own_salts: boolean;
                            reason: string | null;
                            site: number;
                            skipped: number;
                            source: string;
                            /** @enum {string} */
                            state: "running" | "done" | "failed" | "removing";
                            total: number | null;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_invitations_accept: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    token: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            delete_after?: string;
                            id: number;
                            name: string;
                            require_totp: boolean;
                            /** @enum {string} */
                            role?: "owner" | "admin" | "member" | "viewer";
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_keys: {
        parameters: {
            query?: {
                org?: number;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            created_at: string;
                            expires_at?: string;
                            id: number;
                            name: string;
                            org: number;
                            prefix: string;
                            revoked_at?: string;
                            scopes: ("stats:read" | "manage:read" | "manage:write" | "ingest:write")[];
                            site?: number;
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_keys: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    expires_at?: string;
                    name: string;
                    org?: number;
                    scopes?: ("stats:read" | "manage:read" | "manage:write" | "ingest:write")[];
                    site?: number;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            created_at: string;
                            expires_at?: string;
                            id: number;
                            name: string;
                            org: number;
                            prefix: string;
                            revoked_at?: string;
                            scopes: ("stats:read" | "manage:read" | "manage:write" | "ingest:write")[];
                            secret: string;
                            site?: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_keys_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    get_keys_id_usage: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            id: number;
                            last_used_at?: string;
                            requests: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_log_edge: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    agent_events?: {
                        bytes?: number | null;
                        conditional?: (0 | 1) | null;
                        content_type?: string | null;
                        decided?: {
                            /** @enum {string} */
                            action: "allow" | "block" | "pay" | "limit" | "gone";
                            rule: number;
                        } | null;
                        duration_ms?: number | null;
                        headers?: {
                            [key: string]: string;
                        } | null;
                        hostname: string;
                        ip?: string | null;
                        method: string;
                        pathname: string;
                        query?: string | null;
                        referrer?: string | null;
                        response?: {
                            [key: string]: string;
                        } | null;
                        signed?: {
                            authority: string;
                            /** @enum {string} */
                            scheme: "http" | "https";
                            target: string;
                        } | null;
                        status: number;
                        timestamp: string;
                        user_agent: string;
                    }[] | null;
                    batch?: {
                        number: number;
                        sender: string;
                    } | null;
                    events?: {
                        duration_ms?: number | null;
                        headers?: {
                            [key: string]: string;
                        } | null;
                        hostname: string;
                        ip?: string | null;
                        language?: string | null;
                        pathname: string;
                        props?: {
                            [key: string]: unknown;
                        } | null;
                        query?: string | null;
                        referrer?: string | null;
                        status?: number | null;
                        timestamp: string;
                        user_agent: string;
                    }[] | null;
                    hits?: {
                        headers?: {
                            [key: string]: string;
                        } | null;
                        ip: string;
                        payload: unknown;
                        timestamp: string;
                        user_agent: string;
                    }[] | null;
                    site_id: number;
                };
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agent_events: number;
                            events: number;
                            refused?: {
                                /** @enum {string} */
                                reason: "foreign_host";
                                row: string;
                            }[];
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_orgs: {
        parameters: {
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            delete_after?: string;
                            id: number;
                            name: string;
                            require_totp: boolean;
                            /** @enum {string} */
                            role?: "owner" | "admin" | "member" | "viewer";
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_orgs: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            delete_after?: string;
                            id: number;
                            name: string;
                            require_totp: boolean;
                            /** @enum {string} */
                            role?: "owner" | "admin" | "member" | "viewer";
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_orgs_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            delete_after?: string;
                            id: number;
                            name: string;
                            require_totp: boolean;
                            /** @enum {string} */
                            role?: "owner" | "admin" | "member" | "viewer";
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_orgs_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    patch_orgs_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    name?: string;
                    require_totp?: boolean;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            delete_after?: string;
                            id: number;
                            name: string;
                            require_totp: boolean;
                            /** @enum {string} */
                            role?: "owner" | "admin" | "member" | "viewer";
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_orgs_id_audit: {
        parameters: {
            query?: {
                action?: string;
                limit?: number;
                object?: string;
                page?: number;
                since?: string;
            };
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            action: string;
                            actor: string;
                            /** @enum {string} */
                            actor_kind: "operator" | "user" | "key" | "system";
                            at: string;
                            details?: {
                                [key: string]: unknown;
                            };
                            id: number;
                            ip?: string;
                            object: string;
                            object_id?: string;
                            org: number;
                        }[];
                        meta: {
                            limit: number;
                            page: number;
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_orgs_id_invitations: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            created_at: string;
                            email: string;
                            expires_at: string;
                            id: number;
                            invited_by: string;
                            org: number;
                            /** @enum {string} */
                            role: "owner" | "admin" | "member" | "viewer";
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_orgs_id_invitations: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    email: string;
                    /** @enum {string} */
                    role: "owner" | "admin" | "member" | "viewer";
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            created_at: string;
                            email: string;
                            expires_at: string;
                            id: number;
                            invited_by: string;
                            link: string;
                            mail_server: boolean;
                            org: number;
                            /** @enum {string} */
                            role: "owner" | "admin" | "member" | "viewer";
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_orgs_id_invitations_invitation: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
                invitation: number;
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    get_orgs_id_members: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            email: string;
                            name: string;
                            /** @enum {string} */
                            role: "owner" | "admin" | "member" | "viewer";
                            since: string;
                            user: number;
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_orgs_id_members_user: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
                user: components["parameters"]["user"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    patch_orgs_id_members_user: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
                user: components["parameters"]["user"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    role?: "owner" | "admin" | "member" | "viewer";
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            email: string;
                            name: string;
                            /** @enum {string} */
                            role: "owner" | "admin" | "member" | "viewer";
                            since: string;
                            user: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_orgs_id_restore: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            delete_after?: string;
                            id: number;
                            name: string;
                            require_totp: boolean;
                            /** @enum {string} */
                            role?: "owner" | "admin" | "member" | "viewer";
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_orgs_id_transfer: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    user: number;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            email: string;
                            name: string;
                            /** @enum {string} */
                            role: "owner" | "admin" | "member" | "viewer";
                            since: string;
                            user: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_phantom_links: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience____"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents: {
                                agent_id: string;
                                fetches: number;
                                name: string;
                            }[];
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            fetches: number;
                            hostname: string;
                            last_served?: string;
                            lost: number;
                            nearest?: {
                                in_sitemap: boolean;
                                pathname: string;
                                /** @enum {string} */
                                reason: "same_name" | "moved" | "spelling" | "words" | "parent";
                            };
                            pathname: string;
                            readers: number;
                            redirect?: {
                                after?: {
                                    lost: number;
                                    readers: number;
                                    requests: number;
                                    share?: number;
                                };
                                before?: {
                                    lost: number;
                                    readers: number;
                                    requests: number;
                                    share?: number;
                                };
                                days: number;
                                id: number;
                                since: string;
                            };
                            requests: number;
                            since?: string;
                            status?: number;
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_policy: {
        parameters: {
            query: {
                agent_id?: string;
                audience?: components["parameters"]["audience___"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                hostname?: components["parameters"]["hostname"];
                path?: string;
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents: {
                                agent_id: string;
                                allowed: boolean;
                                content_signals?: {
                                    [key: string]: string;
                                };
                                content_usage?: {
                                    line: number;
                                    pattern: string;
                                    preferences: {
                                        [key: string]: string;
                                    };
                                }[];
                                crawl_delay?: number;
                                group: string[];
                                line?: number;
                                name: string;
                                reason: string;
                                robots_token: string;
                                rule?: string;
                                rules: number;
                                seen?: {
                                    disallowed: number;
                                    fetches: number;
                                    last_seen: string;
                                    /** @enum {string} */
                                    severity?: "breach" | "unbound" | "unclear" | "unverified" | "grace";
                                    spoofed: number;
                                };
                            }[];
                            headers: {
                                content_usage?: string;
                                fetches: number;
                                pathname: string;
                                x_robots_tag?: string;
                            }[];
                            hostname?: string;
                            hostnames: string[];
                            llms?: {
                                fetched_at: string;
                                first_seen: string;
                                problems: {
                                    line?: number;
                                    problem: string;
                                }[];
                                reason?: string;
                                sections: {
                                    links: {
                                        disallowed?: boolean;
                                        last_status?: number;
                                        notes?: string;
                                        offsite: boolean;
                                        title: string;
                                        url: string;
                                    }[];
                                    name: string;
                                    optional: boolean;
                                }[];
                                sha256?: string;
                                /** @enum {string} */
                                standing: "served" | "unavailable" | "unreachable";
                                status: number;
                                summary?: string;
                                title?: string;
                                truncated?: boolean;
                                url: string;
                            };
                            path: string;
                            robots?: {
                                fetched_at: string;
                                first_seen: string;
                                groups: {
                                    content_signals?: {
                                        [key: string]: string;
                                    };
                                    content_usage?: {
                                        line: number;
                                        pattern: string;
                                        preferences: {
                                            [key: string]: string;
                                        };
                                    }[];
                                    crawl_delay?: number;
                                    line: number;
                                    rules: {
                                        allow: boolean;
                                        line: number;
                                        pattern: string;
                                    }[];
                                    user_agents: string[];
                                }[];
                                licenses: {
                                    line: number;
                                    url: string;
                                }[];
                                problems: {
                                    line?: number;
                                    problem: string;
                                }[];
                                reason?: string;
                                sha256?: string;
                                sitemaps: string[];
                                /** @enum {string} */
                                standing: "served" | "unavailable" | "unreachable";
                                status: number;
                                truncated?: boolean;
                                url: string;
                            };
                            versions: {
                                fetched_at: string;
                                /** @enum {string} */
                                kind: "robots" | "llms";
                                last_seen: string;
                                sha256?: string;
                                status: number;
                            }[];
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_policy_presets: {
        parameters: {
            query: {
                hostname?: components["parameters"]["hostname"];
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            /** @enum {string} */
                            name: "search_not_training" | "assistants_only" | "nothing" | "everything";
                            text: string;
                        }[];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_policy_rehearsal: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    end?: string;
                    hostname?: string;
                    progress?: boolean;
                    /** @enum {string} */
                    range?: "today" | "yesterday" | "24h" | "7d" | "30d" | "90d" | "12mo" | "mtd" | "ytd" | "all";
                    site: number;
                    start?: string;
                    text: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents: {
                                after: {
                                    breaches: number;
                                    ignored: number;
                                    read_at?: string;
                                    reads: number;
                                };
                                agent_id: string;
                                fetches: number;
                                name: string;
                                newly_allowed: {
                                    bytes: number;
                                    fetches: number;
                                    pages: number;
                                };
                                newly_disallowed: {
                                    bytes: number;
                                    fetches: number;
                                    pages: number;
                                };
                                operator?: string;
                                purpose?: string;
                            }[];
                            bytes: number;
                            differing: {
                                detail?: string;
                                /** @enum {string} */
                                kind: "too_long" | "byte_order_mark" | "long_line" | "no_record" | "misspelt" | "unknown_key" | "preferences" | "crawl_delay" | "licence" | "pattern" | "token_only" | "agent_name";
                                line?: number;
                                text?: string;
                            }[];
                            disallowed: number;
                            fetches: number;
                            hidden: {
                                llms: number;
                                named: {
                                    agents: string[];
                                    llms: number;
                                    sitemap: number;
                                    total: number;
                                }[];
                                pages: {
                                    hostname: string;
                                    llms: boolean;
                                    pathname: string;
                                    sitemap: boolean;
                                }[];
                                sitemap: number;
                            };
                            hostnames: string[];
                            limits: {
                                fetches: number;
                                /** @enum {string} */
                                kind: "query" | "spoofed" | "no_policy";
                            }[];
                            lines: {
                                fetches: number;
                                line: number;
                            }[];
                            newly_allowed: {
                                bytes: number;
                                fetches: number;
                                pages: number;
                            };
                            newly_disallowed: {
                                bytes: number;
                                fetches: number;
                                pages: number;
                            };
                            problems: {
                                line?: number;
                                problem: string;
                            }[];
                            search_engines: {
                                agent_id: string;
                                fetches: number;
                                name: string;
                                pages: number;
                            }[];
                            since?: string;
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_policy_versions: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience___"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                hostname?: components["parameters"]["hostname"];
                kind?: "robots" | "llms";
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents: {
                                agent_id: string;
                                first_read: string;
                                last_read: string;
                                name: string;
                                reads: number;
                            }[];
                            first_read?: string;
                            groups?: number;
                            hostname: string;
                            /** @enum {string} */
                            kind: "robots" | "llms";
                            last_read?: string;
                            links?: number;
                            readers: number;
                            reads: number;
                            rules?: number;
                            sha256?: string;
                            since: string;
                            /** @enum {string} */
                            standing: "served" | "unavailable" | "unreachable";
                            status: number;
                            text?: string;
                            truncated?: boolean;
                            until?: string;
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_policy_violations: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience___"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                severity?: components["parameters"]["severity"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agent_id: string;
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            fetches: number;
                            first_seen: string;
                            hostname: string;
                            last_seen: string;
                            line?: number;
                            operator: string;
                            pathname: string;
                            rule?: string;
                            /** @enum {string} */
                            severity: "breach" | "unbound" | "unclear" | "unverified" | "grace";
                            verified?: boolean;
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_policy_violations_agents: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience___"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                severity?: components["parameters"]["severity"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agent_id: string;
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            fetches: number;
                            first_seen: string;
                            last_seen: string;
                            line?: number;
                            name: string;
                            operator: string;
                            rule?: string;
                            /** @enum {string} */
                            severity: "breach" | "unbound" | "unclear" | "unverified" | "grace";
                            urls: number;
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_policy_violations_pages: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience___"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                severity?: components["parameters"]["severity"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents: number;
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            fetches: number;
                            first_seen: string;
                            hostname: string;
                            last_seen: string;
                            line?: number;
                            pathname: string;
                            rule?: string;
                            severities: {
                                breach: number;
                                grace: number;
                                unbound: number;
                                unclear: number;
                                unverified: number;
                            };
                            /** @enum {string} */
                            severity: "breach" | "unbound" | "unclear" | "unverified" | "grace";
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_policy_violations_rules: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience___"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                severity?: components["parameters"]["severity"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agent_id: string;
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            fetches: number;
                            first_seen: string;
                            last_seen: string;
                            line?: number;
                            name: string;
                            operator: string;
                            rule?: string;
                            /** @enum {string} */
                            severity: "breach" | "unbound" | "unclear" | "unverified" | "grace";
                            urls: number;
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_redirects: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            created_at: string;
                            created_by: string;
                            from: string & (unknown & unknown);
                            id: number;
                            site: number;
                            status: 301 | 302 | 307 | 308;
                            to: string;
                            version: number;
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_redirects: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    from: string & (unknown & unknown);
                    site: number;
                    status?: 301 | 302 | 307 | 308;
                    to: string;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            created_at: string;
                            created_by: string;
                            from: string & (unknown & unknown);
                            id: number;
                            site: number;
                            status: 301 | 302 | 307 | 308;
                            to: string;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_redirects_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            created_at: string;
                            created_by: string;
                            from: string & (unknown & unknown);
                            id: number;
                            site: number;
                            status: 301 | 302 | 307 | 308;
                            to: string;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_redirects_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    patch_redirects_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    from?: string & (unknown & unknown);
                    status?: 301 | 302 | 307 | 308;
                    to?: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            created_at: string;
                            created_by: string;
                            from: string & (unknown & unknown);
                            id: number;
                            site: number;
                            status: 301 | 302 | 307 | 308;
                            to: string;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_redirects_export: {
        parameters: {
            query: {
                for: "nginx" | "caddy" | "apache";
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain; charset=utf-8": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_reports: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            enabled: boolean;
                            id: number;
                            last_sent?: string;
                            name: string;
                            /** @enum {string} */
                            period: "weekly" | "monthly";
                            recipients: string[];
                            site: number;
                            version: number;
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_reports: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    enabled?: boolean;
                    name: string;
                    /** @enum {string} */
                    period: "weekly" | "monthly";
                    recipients: string[];
                    site: number;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            enabled: boolean;
                            id: number;
                            last_sent?: string;
                            name: string;
                            /** @enum {string} */
                            period: "weekly" | "monthly";
                            recipients: string[];
                            site: number;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_reports_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            enabled: boolean;
                            id: number;
                            last_sent?: string;
                            name: string;
                            /** @enum {string} */
                            period: "weekly" | "monthly";
                            recipients: string[];
                            site: number;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_reports_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    patch_reports_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    enabled?: boolean;
                    name?: string;
                    /** @enum {string} */
                    period?: "weekly" | "monthly";
                    recipients?: string[];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            enabled: boolean;
                            id: number;
                            last_sent?: string;
                            name: string;
                            /** @enum {string} */
                            period: "weekly" | "monthly";
                            recipients: string[];
                            site: number;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_reports_id_deliveries: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            attempts: number;
                            channel: {
                                target: string;
                                /** @enum {string} */
                                type: "webhook" | "email";
                            };
                            created_at: string;
                            done_at?: string;
                            id: number;
                            key: string;
                            last_error?: string;
                            next_at?: string;
                            /** @enum {string} */
                            state: "waiting" | "sending" | "done" | "failed";
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_reports_id_test: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            queued: number;
                        };
                        meta: {
                            warnings: {
                                code: string;
                                message: string;
                            }[];
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_robots_texts: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            is_managed: boolean;
                            versions: {
                                created_at: string;
                                created_by: string;
                                id: number;
                                is_served: boolean;
                                text?: string;
                            }[];
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_robots_texts: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    disallow_search_engines?: boolean;
                    site: number;
                    text?: string;
                    version?: number;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            is_managed: boolean;
                            versions: {
                                created_at: string;
                                created_by: string;
                                id: number;
                                is_served: boolean;
                                text?: string;
                            }[];
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_robots_texts: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    get_rules: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            /** @enum {string} */
                            action: "allow" | "block" | "pay" | "limit" | "gone";
                            agents: string[];
                            budget?: {
                                /** @enum {string} */
                                by: "agent" | "operator" | "address";
                                limit: number;
                                /** @enum {string} */
                                per: "minute" | "hour" | "day";
                                /** @enum {string} */
                                unit: "fetches" | "bytes";
                            };
                            changed_at: string;
                            changed_by: string;
                            disallowed: boolean;
                            /** @constant */
                            ended?: true;
                            except: string[];
                            id: number;
                            identity: ("verified" | "spoofed" | "unverifiable")[];
                            license_url?: string;
                            methods: string[];
                            name: string;
                            operators: string[];
                            /**
                             * @description Empty: every path. `*` matches within a segment, `**` across segments.
                             * @default []
                             */
                            paths: (string & (unknown & unknown))[];
                            position: number;
                            purposes: string[];
                            refuse_search_engines: boolean;
                            site: number;
                            /** @enum {string} */
                            state: "off" | "rehearse" | "on";
                            strict: boolean;
                            text: {
                                html?: string;
                                json?: string;
                                plain?: string;
                            };
                            until?: string;
                            version: number;
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_rules: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    action: "allow" | "block" | "pay" | "limit" | "gone";
                    agents?: string[];
                    budget?: {
                        /** @enum {string} */
                        by: "agent" | "operator" | "address";
                        limit: number;
                        /** @enum {string} */
                        per: "minute" | "hour" | "day";
                        /** @enum {string} */
                        unit: "fetches" | "bytes";
                    };
                    disallowed?: boolean;
                    except?: string[];
                    identity?: ("verified" | "spoofed" | "unverifiable")[];
                    license_url?: string;
                    methods?: string[];
                    name: string;
                    operators?: string[];
                    /**
                     * @description Empty: every path. `*` matches within a segment, `**` across segments.
                     * @default []
                     */
                    paths?: (string & (unknown & unknown))[];
                    position?: number;
                    purposes?: string[];
                    refuse_search_engines?: boolean;
                    site: number;
                    /** @enum {string} */
                    state?: "off" | "rehearse" | "on";
                    strict?: boolean;
                    text?: {
                        html?: string;
                        json?: string;
                        plain?: string;
                    };
                    until?: string;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            /** @enum {string} */
                            action: "allow" | "block" | "pay" | "limit" | "gone";
                            agents: string[];
                            budget?: {
                                /** @enum {string} */
                                by: "agent" | "operator" | "address";
                                limit: number;
                                /** @enum {string} */
                                per: "minute" | "hour" | "day";
                                /** @enum {string} */
                                unit: "fetches" | "bytes";
                            };
                            changed_at: string;
                            changed_by: string;
                            disallowed: boolean;
                            /** @constant */
                            ended?: true;
                            except: string[];
                            id: number;
                            identity: ("verified" | "spoofed" | "unverifiable")[];
                            license_url?: string;
                            methods: string[];
                            name: string;
                            operators: string[];
                            /**
                             * @description Empty: every path. `*` matches within a segment, `**` across segments.
                             * @default []
                             */
                            paths: (string & (unknown & unknown))[];
                            position: number;
                            purposes: string[];
                            refuse_search_engines: boolean;
                            site: number;
                            /** @enum {string} */
                            state: "off" | "rehearse" | "on";
                            strict: boolean;
                            text: {
                                html?: string;
                                json?: string;
                                plain?: string;
                            };
                            until?: string;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_rules_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            /** @enum {string} */
                            action: "allow" | "block" | "pay" | "limit" | "gone";
                            agents: string[];
                            budget?: {
                                /** @enum {string} */
                                by: "agent" | "operator" | "address";
                                limit: number;
                                /** @enum {string} */
                                per: "minute" | "hour" | "day";
                                /** @enum {string} */
                                unit: "fetches" | "bytes";
                            };
                            changed_at: string;
                            changed_by: string;
                            disallowed: boolean;
                            /** @constant */
                            ended?: true;
                            except: string[];
                            id: number;
                            identity: ("verified" | "spoofed" | "unverifiable")[];
                            license_url?: string;
                            methods: string[];
                            name: string;
                            operators: string[];
                            /**
                             * @description Empty: every path. `*` matches within a segment, `**` across segments.
                             * @default []
                             */
                            paths: (string & (unknown & unknown))[];
                            position: number;
                            purposes: string[];
                            refuse_search_engines: boolean;
                            site: number;
                            /** @enum {string} */
                            state: "off" | "rehearse" | "on";
                            strict: boolean;
                            text: {
                                html?: string;
                                json?: string;
                                plain?: string;
                            };
                            until?: string;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_rules_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    patch_rules_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    action?: "allow" | "block" | "pay" | "limit" | "gone";
                    agents?: string[];
                    budget?: {
                        /** @enum {string} */
                        by: "agent" | "operator" | "address";
                        limit: number;
                        /** @enum {string} */
                        per: "minute" | "hour" | "day";
                        /** @enum {string} */
                        unit: "fetches" | "bytes";
                    } | null;
                    disallowed?: boolean;
                    except?: string[];
                    identity?: ("verified" | "spoofed" | "unverifiable")[];
                    license_url?: string | null;
                    methods?: string[];
                    name?: string;
                    operators?: string[];
                    /** @description Empty: every path. `*` matches within a segment, `**` across segments. */
                    paths?: (string & (unknown & unknown))[];
                    position?: number;
                    purposes?: string[];
                    refuse_search_engines?: boolean;
                    /** @enum {string} */
                    state?: "off" | "rehearse" | "on";
                    strict?: boolean;
                    text?: {
                        html?: string;
                        json?: string;
                        plain?: string;
                    };
                    until?: string | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            /** @enum {string} */
                            action: "allow" | "block" | "pay" | "limit" | "gone";
                            agents: string[];
                            budget?: {
                                /** @enum {string} */
                                by: "agent" | "operator" | "address";
                                limit: number;
                                /** @enum {string} */
                                per: "minute" | "hour" | "day";
                                /** @enum {string} */
                                unit: "fetches" | "bytes";
                            };
                            changed_at: string;
                            changed_by: string;
                            disallowed: boolean;
                            /** @constant */
                            ended?: true;
                            except: string[];
                            id: number;
                            identity: ("verified" | "spoofed" | "unverifiable")[];
                            license_url?: string;
                            methods: string[];
                            name: string;
                            operators: string[];
                            /**
                             * @description Empty: every path. `*` matches within a segment, `**` across segments.
                             * @default []
                             */
                            paths: (string & (unknown & unknown))[];
                            position: number;
                            purposes: string[];
                            refuse_search_engines: boolean;
                            site: number;
                            /** @enum {string} */
                            state: "off" | "rehearse" | "on";
                            strict: boolean;
                            text: {
                                html?: string;
                                json?: string;
                                plain?: string;
                            };
                            until?: string;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_rules_export: {
        parameters: {
            query: {
                for: "nginx" | "caddy" | "apache" | "haproxy" | "cloudflare" | "robots";
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain; charset=utf-8": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_rules_pause: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    site: number;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            fronts: {
                                asked_at?: string;
                                /** @enum {string} */
                                kind: "proxy" | "application" | "sidecar";
                                name: string;
                                since: string;
                                version: string;
                            }[];
                            paused_by?: string;
                            paused_since?: string;
                            /** @constant */
                            setting_off?: true;
                            version: string;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_rules_rehearsal: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    end?: string;
                    progress?: boolean;
                    /** @enum {string} */
                    range?: "today" | "yesterday" | "24h" | "7d" | "30d" | "90d" | "12mo" | "mtd" | "ytd" | "all";
                    rule?: number;
                    rules?: {
                        /** @enum {string} */
                        action: "allow" | "block" | "pay" | "limit" | "gone";
                        agents?: string[];
                        budget?: {
                            /** @enum {string} */
                            by: "agent" | "operator" | "address";
                            limit: number;
                            /** @enum {string} */
                            per: "minute" | "hour" | "day";
                            /** @enum {string} */
                            unit: "fetches" | "bytes";
                        };
                        changed_at?: string;
                        changed_by?: string;
                        disallowed?: boolean;
                        ended?: boolean;
                        except?: string[];
                        id?: number;
                        identity?: ("verified" | "spoofed" | "unverifiable")[];
                        license_url?: string;
                        methods?: string[];
                        name?: string;
                        operators?: string[];
                        /**
                         * @description Empty: every path. `*` matches within a segment, `**` across segments.
                         * @default []
                         */
                        paths?: (string & (unknown & unknown))[];
                        position?: number;
                        purposes?: string[];
                        refuse_search_engines?: boolean;
                        site?: number;
                        /** @enum {string} */
                        state?: "off" | "rehearse" | "on";
                        strict?: boolean;
                        text?: {
                            html?: string;
                            json?: string;
                            plain?: string;
                        };
                        until?: string;
                        version?: number;
                    }[];
                    site: number;
                    start?: string;
                    tz?: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            bytes: number;
                            days: {
                                day: string;
                                fetches: number;
                                refused: number;
                                would: number;
                            }[];
                            duration_ms: number;
                            fetches: number;
                            limits: {
                                fetches?: number;
                                from?: string;
                                /** @enum {string} */
                                kind: "unverified" | "not_recorded" | "budgets" | "first_fetch" | "query" | "weight";
                                to?: string;
                            }[];
                            refused: {
                                fetches: number;
                            };
                            rules: {
                                /** @enum {string} */
                                action: "allow" | "block" | "pay" | "limit" | "gone";
                                agents: {
                                    after?: {
                                        fetches_after: number;
                                        fetches_before: number;
                                        refused: number;
                                        rule: number;
                                        since: string;
                                    };
                                    agent_id: string;
                                    fetches: number;
                                    /** @enum {string} */
                                    identity?: "verified" | "spoofed" | "unverifiable";
                                    name: string;
                                    operator: string;
                                    readers: number;
                                    search_engine: boolean;
                                    would: number;
                                }[];
                                days: {
                                    day: string;
                                    readers: number;
                                    refused: number;
                                    would: number;
                                }[];
                                id: number;
                                name: string;
                                named_search_engines: {
                                    agent_id: string;
                                    name: string;
                                }[];
                                never_decides?: {
                                    by: number;
                                    fetches: number;
                                };
                                pages: {
                                    hostname: string;
                                    pathname: string;
                                    readers: number;
                                    would: number;
                                }[];
                                problems: {
                                    field: string;
                                    message: string;
                                }[];
                                readers: number;
                                refused: {
                                    fetches: number;
                                };
                                search_engines: {
                                    after?: {
                                        fetches_after: number;
                                        fetches_before: number;
                                        refused: number;
                                        rule: number;
                                        since: string;
                                    };
                                    agent_id: string;
                                    fetches: number;
                                    /** @enum {string} */
                                    identity?: "verified" | "spoofed" | "unverifiable";
                                    name: string;
                                    operator: string;
                                    readers: number;
                                    search_engine: boolean;
                                    would: number;
                                }[];
                                /** @enum {string} */
                                state: "off" | "rehearse" | "on";
                                total_pages: number;
                                would: {
                                    bytes: number;
                                    duration_ms: number;
                                    fetches: number;
                                };
                            }[];
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_rules_resume: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    site: number;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            fronts: {
                                asked_at?: string;
                                /** @enum {string} */
                                kind: "proxy" | "application" | "sidecar";
                                name: string;
                                since: string;
                                version: string;
                            }[];
                            paused_by?: string;
                            paused_since?: string;
                            /** @constant */
                            setting_off?: true;
                            version: string;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_rules_state: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            fronts: {
                                asked_at?: string;
                                /** @enum {string} */
                                kind: "proxy" | "application" | "sidecar";
                                name: string;
                                since: string;
                                version: string;
                            }[];
                            paused_by?: string;
                            paused_since?: string;
                            /** @constant */
                            setting_off?: true;
                            version: string;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_segments: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            filters: {
                                [key: string]: unknown;
                            }[];
                            id: number;
                            name: string;
                            shared: boolean;
                            site: number;
                            version: number;
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_segments: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    filters: unknown[] | {
                        [key: string]: unknown;
                    };
                    name: string;
                    shared?: boolean;
                    site: number;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            filters: {
                                [key: string]: unknown;
                            }[];
                            id: number;
                            name: string;
                            shared: boolean;
                            site: number;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_segments_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            filters: {
                                [key: string]: unknown;
                            }[];
                            id: number;
                            name: string;
                            shared: boolean;
                            site: number;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_segments_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    patch_segments_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    filters?: unknown[] | {
                        [key: string]: unknown;
                    };
                    name?: string;
                    shared?: boolean;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            filters: {
                                [key: string]: unknown;
                            }[];
                            id: number;
                            name: string;
                            shared: boolean;
                            site: number;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_share_slug: {
        parameters: {
            query?: {
                share?: string;
            };
            path: {
                slug: components["parameters"]["slug"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            expires_at?: string;
                            name?: string;
                            password: boolean;
                            scopes?: ("overview" | "timeseries" | "realtime" | "pages" | "sources" | "locations" | "devices" | "breakdown" | "changes" | "hours" | "events" | "goals" | "funnel" | "journeys" | "retention" | "performance" | "errors" | "agents")[];
                            site?: {
                                id: number;
                                name: string;
                                timezone: string;
                            };
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_share_slug_badge_svg: {
        parameters: {
            path: {
                slug: components["parameters"]["slug"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "image/svg+xml": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_share_slug_unlock: {
        parameters: {
            path: {
                slug: components["parameters"]["slug"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    password: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            expires_at: string;
                            token: string;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_shares: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            badge: boolean;
                            created_at: string;
                            embed: string[];
                            expires_at?: string;
                            filters: {
                                [key: string]: unknown;
                            }[];
                            id: number;
                            name: string;
                            password: boolean;
                            scopes: ("overview" | "timeseries" | "realtime" | "pages" | "sources" | "locations" | "devices" | "breakdown" | "changes" | "hours" | "events" | "goals" | "funnel" | "journeys" | "retention" | "performance" | "errors" | "agents")[];
                            site: number;
                            slug: string;
                            version: number;
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_shares: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    badge?: boolean;
                    embed?: string[];
                    expires_at?: string;
                    filters?: unknown[] | {
                        [key: string]: unknown;
                    };
                    name: string;
                    password?: string;
                    scopes: ("overview" | "timeseries" | "realtime" | "pages" | "sources" | "locations" | "devices" | "breakdown" | "changes" | "hours" | "events" | "goals" | "funnel" | "journeys" | "retention" | "performance" | "errors" | "agents")[];
                    site: number;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            badge: boolean;
                            created_at: string;
                            embed: string[];
                            expires_at?: string;
                            filters: {
                                [key: string]: unknown;
                            }[];
                            id: number;
                            name: string;
                            password: boolean;
                            scopes: ("overview" | "timeseries" | "realtime" | "pages" | "sources" | "locations" | "devices" | "breakdown" | "changes" | "hours" | "events" | "goals" | "funnel" | "journeys" | "retention" | "performance" | "errors" | "agents")[];
                            site: number;
                            slug: string;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_shares_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            badge: boolean;
                            created_at: string;
                            embed: string[];
                            expires_at?: string;
                            filters: {
                                [key: string]: unknown;
                            }[];
                            id: number;
                            name: string;
                            password: boolean;
                            scopes: ("overview" | "timeseries" | "realtime" | "pages" | "sources" | "locations" | "devices" | "breakdown" | "changes" | "hours" | "events" | "goals" | "funnel" | "journeys" | "retention" | "performance" | "errors" | "agents")[];
                            site: number;
                            slug: string;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_shares_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    patch_shares_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    badge?: boolean;
                    embed?: string[];
                    expires_at?: string | null;
                    filters?: unknown[] | {
                        [key: string]: unknown;
                    };
                    name?: string;
                    password?: string | null;
                    scopes?: ("overview" | "timeseries" | "realtime" | "pages" | "sources" | "locations" | "devices" | "breakdown" | "changes" | "hours" | "events" | "goals" | "funnel" | "journeys" | "retention" | "performance" | "errors" | "agents")[];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            badge: boolean;
                            created_at: string;
                            embed: string[];
                            expires_at?: string;
                            filters: {
                                [key: string]: unknown;
                            }[];
                            id: number;
                            name: string;
                            password: boolean;
                            scopes: ("overview" | "timeseries" | "realtime" | "pages" | "sources" | "locations" | "devices" | "breakdown" | "changes" | "hours" | "events" | "goals" | "funnel" | "journeys" | "retention" | "performance" | "errors" | "agents")[];
                            site: number;
                            slug: string;
                            version: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_sites: {
        parameters: {
            query?: {
                org?: number;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            citation_threshold?: number;
                            currency: string;
                            domains: string[];
                            excluded_paths: string[];
                            id: number;
                            indexnow_key?: string;
                            indexnow_key_location?: string;
                            name: string;
                            org: number;
                            origin?: string;
                            price_per_gigabyte?: number;
                            price_per_origin_second?: number;
                            price_per_thousand_requests?: number;
                            respect_gpc: boolean;
                            retention_days?: number;
                            sections: string[];
                            timezone: string;
                            url?: string;
                            version: number;
                            /** @enum {string} */
                            visitor_salt: "day" | "week" | "month" | "never";
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_sites: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    citation_threshold?: number;
                    currency?: string;
                    domains: string[];
                    excluded_paths?: (string & (unknown & unknown))[];
                    indexnow_key?: string;
                    indexnow_key_location?: string;
                    name: string;
                    org?: number;
                    origin?: string;
                    price_per_gigabyte?: number;
                    price_per_origin_second?: number;
                    price_per_thousand_requests?: number;
                    respect_gpc?: boolean;
                    retention_days?: number;
                    sections?: (string & (unknown & unknown))[];
                    timezone?: string;
                    /** @enum {string} */
                    visitor_salt?: "day" | "week" | "month" | "never";
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            citation_threshold?: number;
                            currency: string;
                            domains: string[];
                            excluded_paths: string[];
                            id: number;
                            indexnow_key?: string;
                            indexnow_key_location?: string;
                            ingest_key: string;
                            name: string;
                            org: number;
                            origin?: string;
                            price_per_gigabyte?: number;
                            price_per_origin_second?: number;
                            price_per_thousand_requests?: number;
                            respect_gpc: boolean;
                            retention_days?: number;
                            sections: string[];
                            timezone: string;
                            version: number;
                            /** @enum {string} */
                            visitor_salt: "day" | "week" | "month" | "never";
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_sites_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            citation_threshold?: number;
                            currency: string;
                            domains: string[];
                            excluded_paths: string[];
                            id: number;
                            indexnow_key?: string;
                            indexnow_key_location?: string;
                            name: string;
                            org: number;
                            origin?: string;
                            price_per_gigabyte?: number;
                            price_per_origin_second?: number;
                            price_per_thousand_requests?: number;
                            respect_gpc: boolean;
                            retention_days?: number;
                            sections: string[];
                            timezone: string;
                            url?: string;
                            version: number;
                            /** @enum {string} */
                            visitor_salt: "day" | "week" | "month" | "never";
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_sites_id: {
        parameters: {
            path: {
                id: number;
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    patch_sites_id: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    citation_threshold?: number | null;
                    currency?: string;
                    domains?: string[];
                    excluded_paths?: (string & (unknown & unknown))[];
                    indexnow_key?: string | null;
                    indexnow_key_location?: string | null;
                    name?: string;
                    origin?: string | null;
                    price_per_gigabyte?: number | null;
                    price_per_origin_second?: number | null;
                    price_per_thousand_requests?: number | null;
                    respect_gpc?: boolean;
                    retention_days?: number | null;
                    sections?: (string & (unknown & unknown))[];
                    timezone?: string;
                    /** @enum {string} */
                    visitor_salt?: "day" | "week" | "month" | "never";
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            citation_threshold?: number;
                            currency: string;
                            domains: string[];
                            excluded_paths: string[];
                            id: number;
                            indexnow_key?: string;
                            indexnow_key_location?: string;
                            name: string;
                            org: number;
                            origin?: string;
                            price_per_gigabyte?: number;
                            price_per_origin_second?: number;
                            price_per_thousand_requests?: number;
                            respect_gpc: boolean;
                            retention_days?: number;
                            sections: string[];
                            timezone: string;
                            version: number;
                            /** @enum {string} */
                            visitor_salt: "day" | "week" | "month" | "never";
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_sites_id_drops: {
        parameters: {
            query?: {
                days?: number;
            };
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            count: number;
                            day: string;
                            /** @enum {string} */
                            door: "track" | "edge";
                            /** @enum {string} */
                            reason: "queue_full" | "recorder_off" | "fault" | "unknown_host" | "not_a_page" | "prefetch" | "excluded_path" | "opted_out" | "malformed" | "too_large" | "over_batch" | "unknown_site" | "foreign_host" | "rate_limited" | "agent" | "same_view" | "nothing_measured";
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_sites_id_history: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            created_at: string;
                            days: number;
                            files: string[];
                            first_day: string;
                            id: number;
                            last_day: string;
                            pages?: number;
                            site: number;
                            tool: string;
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_sites_id_history: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        requestBody: {
            content: {
                "application/json": {
                    days?: {
                        bounces: number | null;
                        day: string;
                        pageviews: number | null;
                        seconds: number | null;
                        visitors: number | null;
                        visits: number | null;
                    }[];
                    files?: string[];
                    pages?: {
                        first_day: string;
                        last_day: string;
                        rows: {
                            citations?: number | null;
                            clicks?: number | null;
                            hostname: string;
                            impressions?: number | null;
                            pathname: string;
                        }[];
                    };
                    tool: string;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            created_at: string;
                            days: number;
                            files: string[];
                            first_day: string;
                            id: number;
                            last_day: string;
                            left_out: number;
                            pages?: number;
                            site: number;
                            tool: string;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    delete_sites_id_history_history: {
        parameters: {
            path: {
                history: number;
                id: components["parameters"]["id"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    get_sites_id_indexnow: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            attempts: number;
                            channel: {
                                target: string;
                                /** @enum {string} */
                                type: "webhook" | "email";
                            };
                            created_at: string;
                            done_at?: string;
                            id: number;
                            key: string;
                            last_error?: string;
                            next_at?: string;
                            /** @enum {string} */
                            state: "waiting" | "sending" | "done" | "failed";
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_sites_id_ingest_key: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            created_at: string;
                            ingest_key: string;
                            previous_until?: string;
                            site: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_sites_id_ingest_key_rotate: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            created_at: string;
                            ingest_key: string;
                            previous_until?: string;
                            site: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_sites_id_refused_hostnames: {
        parameters: {
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            count: number;
                            hostname: string;
                            last_at: string;
                        }[];
                        meta: {
                            total: number;
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_sites_id_sections: {
        parameters: {
            query?: {
                pattern?: string & (unknown & unknown);
            };
            path: {
                id: components["parameters"]["id"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            fits?: {
                                examples: string[];
                                pages: number;
                                pattern: string;
                                taken: number;
                            };
                            outside: number;
                            sections: {
                                /** @enum {string} */
                                origin: "written" | "found";
                                pages: number;
                                pattern: string;
                            }[];
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_breakdown: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                dimension: string;
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents?: number;
                            bounce?: number;
                            bytes?: number;
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            duration?: number;
                            events?: number;
                            fetches?: number;
                            indeterminate?: number;
                            pageviews?: number;
                            sessions?: number;
                            spoofed?: number;
                            unverifiable?: number;
                            value?: string | number | boolean;
                            verified?: number;
                            verified_fetches?: number;
                            views_per_session?: number;
                            visitors?: number;
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_changes: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            before?: number;
                            buckets: {
                                before?: number;
                                difference?: number;
                                now?: number;
                                /** @constant */
                                partial?: true;
                                t: string;
                            }[];
                            cause?: {
                                before: number;
                                difference: number;
                                dimension: string;
                                excess: number;
                                name?: string;
                                now: number;
                                page?: {
                                    before: number;
                                    difference: number;
                                    name?: string;
                                    now: number;
                                    /** @constant */
                                    spoofed?: true;
                                    value?: string;
                                };
                                /** @constant */
                                spoofed?: true;
                                times?: {
                                    difference: number;
                                    t: string;
                                }[];
                                value?: string;
                            };
                            compared: number;
                            difference?: number;
                            dimensions: {
                                dimension: string;
                                fell: {
                                    before: number;
                                    difference: number;
                                    name?: string;
                                    now: number;
                                    /** @constant */
                                    spoofed?: true;
                                    value?: string;
                                }[];
                                others: {
                                    before: number;
                                    difference: number;
                                    now: number;
                                    values: number;
                                };
                                rose: {
                                    before: number;
                                    difference: number;
                                    name?: string;
                                    now: number;
                                    /** @constant */
                                    spoofed?: true;
                                    value?: string;
                                }[];
                            }[];
                            /** @enum {string} */
                            granularity: "minute" | "hour" | "day" | "week" | "month";
                            /** @enum {string} */
                            measure: "sessions" | "pageviews";
                            now?: number;
                            /** @enum {string} */
                            verdict: "cause" | "spread" | "chance" | "unknown";
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_devices: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            browsers?: {
                                bounce?: number;
                                browser?: string;
                                change?: {
                                    [key: string]: number;
                                };
                                comparison?: {
                                    [key: string]: number;
                                };
                                duration?: number;
                                events?: number;
                                pageviews?: number;
                                sessions?: number;
                                views_per_session?: number;
                                visitors?: number;
                            }[];
                            device_types?: {
                                bounce?: number;
                                change?: {
                                    [key: string]: number;
                                };
                                comparison?: {
                                    [key: string]: number;
                                };
                                device_type?: string;
                                duration?: number;
                                events?: number;
                                pageviews?: number;
                                sessions?: number;
                                views_per_session?: number;
                                visitors?: number;
                            }[];
                            os?: {
                                bounce?: number;
                                change?: {
                                    [key: string]: number;
                                };
                                comparison?: {
                                    [key: string]: number;
                                };
                                duration?: number;
                                events?: number;
                                os?: string;
                                pageviews?: number;
                                sessions?: number;
                                views_per_session?: number;
                                visitors?: number;
                            }[];
                            screen_classes?: {
                                bounce?: number;
                                change?: {
                                    [key: string]: number;
                                };
                                comparison?: {
                                    [key: string]: number;
                                };
                                duration?: number;
                                events?: number;
                                pageviews?: number;
                                screen_class?: string;
                                sessions?: number;
                                views_per_session?: number;
                                visitors?: number;
                            }[];
                            user_agents?: {
                                agents?: number;
                                bytes?: number;
                                change?: {
                                    [key: string]: number;
                                };
                                comparison?: {
                                    [key: string]: number;
                                };
                                fetches?: number;
                                indeterminate?: number;
                                pageviews?: number;
                                spoofed?: number;
                                unverifiable?: number;
                                user_agent?: string;
                                verified?: number;
                                verified_fetches?: number;
                            }[];
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_dimensions: {
        parameters: {
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            audiences: ("human" | "agent" | "all")[];
                            dimensions: {
                                aliases: string[];
                                audiences: ("human" | "agent" | "all")[];
                                /** @enum {string} */
                                level: "row" | "session";
                                name: string;
                                operators: string[];
                                /** @enum {string} */
                                type: "text" | "number" | "boolean" | "flag";
                            }[];
                            granularities: ("minute" | "hour" | "day" | "week" | "month")[];
                            groups: string[];
                            metrics: {
                                audiences: ("human" | "agent" | "all")[];
                                meaning: string;
                                name: string;
                                type: string;
                            }[];
                            operators: {
                                aliases: string[];
                                name: string;
                                negative: boolean;
                            }[];
                            ranges: ("today" | "yesterday" | "24h" | "7d" | "30d" | "90d" | "12mo" | "mtd" | "ytd" | "all")[];
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_errors: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            count: number;
                            fingerprint: string;
                            first_seen: string;
                            frame?: string;
                            last_seen: string;
                            message: string;
                            pathname: string;
                            sessions: number;
                            sparkline: (number | null)[];
                            type: string;
                            visitors: number;
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_events: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                name?: string;
                page?: components["parameters"]["page"];
                property?: string;
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents?: number;
                            bytes?: number;
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            events?: number;
                            fetches?: number;
                            indeterminate?: number;
                            kind: string;
                            name: string;
                            pageviews?: number;
                            /** @description People only. Most frequent first. Values are text, as filters on `prop:<key>` compare them. */
                            properties?: {
                                key: string;
                                values: {
                                    events: number;
                                    value: string;
                                }[];
                            }[];
                            spoofed?: number;
                            unverifiable?: number;
                            verified?: number;
                            verified_fetches?: number;
                            visitors?: number;
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_export_csv: {
        parameters: {
            query: {
                agent_id?: components["parameters"]["agent_id"];
                align?: components["parameters"]["align"];
                audience?: components["parameters"]["audience"];
                by?: components["parameters"]["by"];
                compare?: components["parameters"]["compare"];
                depth?: components["parameters"]["depth"];
                dimension?: components["parameters"]["dimension"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                hostname?: components["parameters"]["hostname_"];
                hours?: components["parameters"]["hours"];
                kind?: components["parameters"]["kind"];
                limit?: components["parameters"]["limit_"];
                metric?: components["parameters"]["metric"];
                minutes?: components["parameters"]["minutes_"];
                name?: components["parameters"]["name"];
                operator?: components["parameters"]["operator_"];
                order?: components["parameters"]["order"];
                outcome?: components["parameters"]["outcome"];
                page?: components["parameters"]["page"];
                path?: components["parameters"]["path"];
                per?: components["parameters"]["per"];
                property?: components["parameters"]["property"];
                range?: components["parameters"]["range"];
                report?: string;
                segment?: components["parameters"]["segment"];
                severity?: components["parameters"]["severity_"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                step?: components["parameters"]["step"];
                steps?: components["parameters"]["steps"];
                suspected?: components["parameters"]["suspected"];
                table?: string;
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv; charset=utf-8": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_export_pdf: {
        parameters: {
            query: {
                agent_id?: components["parameters"]["agent_id"];
                align?: components["parameters"]["align"];
                audience?: components["parameters"]["audience"];
                by?: components["parameters"]["by"];
                compare?: components["parameters"]["compare"];
                depth?: components["parameters"]["depth"];
                dimension?: components["parameters"]["dimension"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                hostname?: components["parameters"]["hostname_"];
                hours?: components["parameters"]["hours"];
                kind?: components["parameters"]["kind"];
                limit?: components["parameters"]["limit_"];
                metric?: components["parameters"]["metric"];
                minutes?: components["parameters"]["minutes_"];
                name?: components["parameters"]["name"];
                operator?: components["parameters"]["operator_"];
                order?: components["parameters"]["order"];
                outcome?: components["parameters"]["outcome"];
                page?: components["parameters"]["page"];
                path?: components["parameters"]["path"];
                per?: components["parameters"]["per"];
                property?: components["parameters"]["property"];
                range?: components["parameters"]["range"];
                report?: string;
                segment?: components["parameters"]["segment"];
                severity?: components["parameters"]["severity_"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                step?: components["parameters"]["step"];
                steps?: components["parameters"]["steps"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/pdf": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_funnel_id: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                outcome?: "reached" | "dropped";
                page?: components["parameters"]["page"];
                per?: "session" | "visitor";
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                step?: number;
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
            path: {
                id: string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            behind?: string[];
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            id: number;
                            name: string;
                            sessions?: number;
                            steps?: {
                                change?: {
                                    [key: string]: number;
                                };
                                comparison?: {
                                    [key: string]: number;
                                };
                                drop_off?: number;
                                label: string;
                                rate?: number;
                                sessions?: number;
                                visitors?: number;
                            }[];
                            visitors?: number;
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_goals: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            conversions?: number;
                            id: number;
                            name: string;
                            rate?: number;
                            revenue?: {
                                amount: number;
                                change?: {
                                    [key: string]: number;
                                };
                                comparison?: {
                                    [key: string]: number;
                                };
                                currency: string;
                            }[];
                            visitors?: number;
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_hours: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            cells: {
                                average?: number;
                                count?: number;
                                hour: number;
                                hours: number;
                                weekday: number;
                            }[];
                            left_out: number;
                            /** @enum {string} */
                            measure: "sessions" | "pageviews";
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_journeys: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                depth?: number;
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: string;
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            links?: {
                                sessions: number;
                                source: string;
                                target: string;
                            }[];
                            nodes?: {
                                depth: number;
                                id: string;
                                /** @enum {string} */
                                kind: "page" | "other" | "exit";
                                pathname: string;
                                sessions: number;
                            }[];
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_journeys_steps: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                steps: string;
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            after: {
                                /** @enum {string} */
                                kind: "page" | "other" | "edge";
                                pages?: number;
                                pathname?: string;
                                sessions?: number;
                                times?: number;
                            }[];
                            before: {
                                /** @enum {string} */
                                kind: "page" | "other" | "edge";
                                pages?: number;
                                pathname?: string;
                                sessions?: number;
                                times?: number;
                            }[];
                            steps: {
                                pathname: string;
                                sessions?: number;
                                times?: number;
                            }[];
                            visits?: {
                                pathnames: string[];
                                sessions: number;
                            }[];
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_locations: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            cities?: {
                                agents?: number;
                                bounce?: number;
                                bytes?: number;
                                change?: {
                                    [key: string]: number;
                                };
                                city?: string;
                                comparison?: {
                                    [key: string]: number;
                                };
                                country?: string;
                                duration?: number;
                                events?: number;
                                fetches?: number;
                                indeterminate?: number;
                                pageviews?: number;
                                region?: string;
                                sessions?: number;
                                spoofed?: number;
                                unverifiable?: number;
                                verified?: number;
                                verified_fetches?: number;
                                views_per_session?: number;
                                visitors?: number;
                            }[];
                            countries: {
                                agents?: number;
                                bounce?: number;
                                bytes?: number;
                                change?: {
                                    [key: string]: number;
                                };
                                comparison?: {
                                    [key: string]: number;
                                };
                                country?: string;
                                duration?: number;
                                events?: number;
                                fetches?: number;
                                indeterminate?: number;
                                pageviews?: number;
                                sessions?: number;
                                spoofed?: number;
                                unverifiable?: number;
                                verified?: number;
                                verified_fetches?: number;
                                views_per_session?: number;
                                visitors?: number;
                            }[];
                            regions?: {
                                agents?: number;
                                bounce?: number;
                                bytes?: number;
                                change?: {
                                    [key: string]: number;
                                };
                                comparison?: {
                                    [key: string]: number;
                                };
                                country?: string;
                                duration?: number;
                                events?: number;
                                fetches?: number;
                                indeterminate?: number;
                                pageviews?: number;
                                region?: string;
                                sessions?: number;
                                spoofed?: number;
                                unverifiable?: number;
                                verified?: number;
                                verified_fetches?: number;
                                views_per_session?: number;
                                visitors?: number;
                            }[];
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_overview: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents?: number;
                            bounce?: number;
                            bytes?: number;
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            duration?: number;
                            events?: number;
                            fetches?: number;
                            indeterminate?: number;
                            pageviews?: number;
                            sessions?: number;
                            spoofed?: number;
                            unverifiable?: number;
                            verified?: number;
                            verified_fetches?: number;
                            views_per_session?: number;
                            visitors?: number;
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_pages: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents?: number;
                            bounce?: number;
                            bytes?: number;
                            change?: {
                                [key: string]: number;
                            };
                            comparison?: {
                                [key: string]: number;
                            };
                            duration?: number;
                            entries?: number;
                            events?: number;
                            exit_rate?: number;
                            exits?: number;
                            fetches?: number;
                            indeterminate?: number;
                            pageviews?: number;
                            pathname: string;
                            scroll_depth?: number;
                            sessions?: number;
                            spoofed?: number;
                            time_on_page?: number;
                            unverifiable?: number;
                            verified?: number;
                            verified_fetches?: number;
                            views_per_session?: number;
                            visitors?: number;
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_performance: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                dimension?: string;
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            change?: {
                                cls?: {
                                    [key: string]: number;
                                };
                                fcp?: {
                                    [key: string]: number;
                                };
                                inp?: {
                                    [key: string]: number;
                                };
                                lcp?: {
                                    [key: string]: number;
                                };
                                ttfb?: {
                                    [key: string]: number;
                                };
                            };
                            cls?: {
                                p50: number;
                                p75: number;
                                p95: number;
                                /** @enum {string} */
                                rating: "good" | "needs-improvement" | "poor";
                                samples: number;
                            };
                            comparison?: {
                                cls?: {
                                    [key: string]: number;
                                };
                                fcp?: {
                                    [key: string]: number;
                                };
                                inp?: {
                                    [key: string]: number;
                                };
                                lcp?: {
                                    [key: string]: number;
                                };
                                ttfb?: {
                                    [key: string]: number;
                                };
                            };
                            fcp?: {
                                p50: number;
                                p75: number;
                                p95: number;
                                /** @enum {string} */
                                rating: "good" | "needs-improvement" | "poor";
                                samples: number;
                            };
                            inp?: {
                                p50: number;
                                p75: number;
                                p95: number;
                                /** @enum {string} */
                                rating: "good" | "needs-improvement" | "poor";
                                samples: number;
                            };
                            lcp?: {
                                p50: number;
                                p75: number;
                                p95: number;
                                /** @enum {string} */
                                rating: "good" | "needs-improvement" | "poor";
                                samples: number;
                            };
                            rows?: {
                                change?: {
                                    cls?: {
                                        [key: string]: number;
                                    };
                                    fcp?: {
                                        [key: string]: number;
                                    };
                                    inp?: {
                                        [key: string]: number;
                                    };
                                    lcp?: {
                                        [key: string]: number;
                                    };
                                    ttfb?: {
                                        [key: string]: number;
                                    };
                                };
                                cls?: {
                                    p50: number;
                                    p75: number;
                                    p95: number;
                                    /** @enum {string} */
                                    rating: "good" | "needs-improvement" | "poor";
                                    samples: number;
                                };
                                comparison?: {
                                    cls?: {
                                        [key: string]: number;
                                    };
                                    fcp?: {
                                        [key: string]: number;
                                    };
                                    inp?: {
                                        [key: string]: number;
                                    };
                                    lcp?: {
                                        [key: string]: number;
                                    };
                                    ttfb?: {
                                        [key: string]: number;
                                    };
                                };
                                fcp?: {
                                    p50: number;
                                    p75: number;
                                    p95: number;
                                    /** @enum {string} */
                                    rating: "good" | "needs-improvement" | "poor";
                                    samples: number;
                                };
                                inp?: {
                                    p50: number;
                                    p75: number;
                                    p95: number;
                                    /** @enum {string} */
                                    rating: "good" | "needs-improvement" | "poor";
                                    samples: number;
                                };
                                lcp?: {
                                    p50: number;
                                    p75: number;
                                    p95: number;
                                    /** @enum {string} */
                                    rating: "good" | "needs-improvement" | "poor";
                                    samples: number;
                                };
                                ttfb?: {
                                    p50: number;
                                    p75: number;
                                    p95: number;
                                    /** @enum {string} */
                                    rating: "good" | "needs-improvement" | "poor";
                                    samples: number;
                                };
                                value?: string | number | boolean;
                            }[];
                            ttfb?: {
                                p50: number;
                                p75: number;
                                p95: number;
                                /** @enum {string} */
                                rating: "good" | "needs-improvement" | "poor";
                                samples: number;
                            };
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_realtime: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience_"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            agents?: number;
                            minutes: {
                                agents?: number;
                                people?: number;
                                t: string;
                            }[];
                            pages: {
                                agents?: number;
                                pathname: string;
                                people?: number;
                            }[];
                            people?: number;
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_realtime_stream: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience_"];
                filters?: components["parameters"]["filters"];
                follow?: "0" | "1";
                n?: number;
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                suspected?: "include" | "exclude";
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_retention: {
        parameters: {
            query: {
                align?: "calendar" | "ids";
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: "day" | "week" | "month";
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            cohorts?: {
                                end?: string;
                                periods: {
                                    /** @constant */
                                    at_least?: true;
                                    period: number;
                                    rate?: number;
                                    /** @enum {string} */
                                    reason?: "salt_changed" | "not_recorded";
                                    /** @constant */
                                    so_far?: true;
                                    visitors?: number;
                                }[];
                                size?: number;
                                start: string;
                            }[];
                            /** @enum {string} */
                            granularity?: "day" | "week" | "month";
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_sessions: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            browser?: string;
                            channel?: string;
                            country?: string;
                            device_type?: string;
                            duration: number;
                            ended_at: string;
                            entry_page?: string;
                            events: number;
                            exit_page?: string;
                            id: string;
                            identified_id?: string;
                            language?: string;
                            os?: string;
                            pageviews: number;
                            screen_class?: string;
                            source?: string;
                            started_at: string;
                            utm_campaign?: string;
                            visitor_id: string;
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_sessions_id: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience__"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
            path: {
                id: string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            browser?: string;
                            channel?: string;
                            country?: string;
                            device_type?: string;
                            duration: number;
                            ended_at: string;
                            entry_page?: string;
                            events: number;
                            exit_page?: string;
                            id: string;
                            identified_id?: string;
                            language?: string;
                            os?: string;
                            pageviews: number;
                            screen_class?: string;
                            source?: string;
                            started_at: string;
                            timeline: {
                                engaged_ms?: number;
                                hostname: string;
                                kind: string;
                                name?: string;
                                pathname: string;
                                props?: {
                                    [key: string]: unknown;
                                };
                                scroll?: number;
                                timestamp: string;
                            }[];
                            utm_campaign?: string;
                            visitor_id: string;
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_sources: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            campaigns?: {
                                bounce?: number;
                                change?: {
                                    [key: string]: number;
                                };
                                comparison?: {
                                    [key: string]: number;
                                };
                                duration?: number;
                                pageviews?: number;
                                sessions?: number;
                                utm_campaign: string;
                                utm_medium?: string;
                                utm_source?: string;
                                visitors?: number;
                            }[];
                            channels?: {
                                bounce?: number;
                                change?: {
                                    [key: string]: number;
                                };
                                channel: string;
                                comparison?: {
                                    [key: string]: number;
                                };
                                duration?: number;
                                pageviews?: number;
                                sessions?: number;
                                visitors?: number;
                            }[];
                            sources?: {
                                bounce?: number;
                                change?: {
                                    [key: string]: number;
                                };
                                channel: string;
                                comparison?: {
                                    [key: string]: number;
                                };
                                duration?: number;
                                pageviews?: number;
                                sessions?: number;
                                source?: string;
                                visitors?: number;
                            }[];
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_suspected: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience__"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            buckets: {
                                pageviews?: number;
                                /** @constant */
                                partial?: true;
                                suspected_pageviews?: number;
                                t: string;
                            }[];
                            countries: {
                                pageviews: number;
                                share: number;
                                suspected_pageviews: number;
                                value?: string;
                            }[];
                            /** @enum {string} */
                            granularity: "minute" | "hour" | "day" | "week" | "month";
                            pages: {
                                pageviews: number;
                                share: number;
                                suspected_pageviews: number;
                                value?: string;
                            }[];
                            pageviews?: number;
                            sessions?: number;
                            share?: number;
                            signals: {
                                /** @enum {string} */
                                family: "headers" | "network" | "behaviour";
                                meaning: string;
                                pageviews?: number;
                                signal: string;
                                suspected_pageviews?: number;
                            }[];
                            sources: {
                                pageviews: number;
                                share: number;
                                suspected_pageviews: number;
                                value?: string;
                            }[];
                            suspected_pageviews?: number;
                            suspected_sessions?: number;
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_timeseries: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                metric?: string;
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            buckets: {
                                /** @constant */
                                imported?: true;
                                indeterminate?: number;
                                /** @constant */
                                partial?: true;
                                spoofed?: number;
                                t: string;
                                value?: number;
                                verified_fetches?: number;
                            }[];
                            comparison?: {
                                /** @constant */
                                imported?: true;
                                indeterminate?: number;
                                /** @constant */
                                partial?: true;
                                spoofed?: number;
                                t: string;
                                value?: number;
                                verified_fetches?: number;
                            }[];
                            /** @enum {string} */
                            granularity: "minute" | "hour" | "day" | "week" | "month";
                            metric: string;
                        };
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_stats_visitors: {
        parameters: {
            query: {
                audience?: components["parameters"]["audience"];
                compare?: components["parameters"]["compare"];
                end?: components["parameters"]["end"];
                filters?: components["parameters"]["filters"];
                granularity?: components["parameters"]["granularity"];
                limit?: components["parameters"]["limit"];
                page?: components["parameters"]["page"];
                range?: components["parameters"]["range"];
                segment?: components["parameters"]["segment"];
                site: components["parameters"]["site"];
                start?: components["parameters"]["start"];
                suspected?: components["parameters"]["suspected"];
                tz?: components["parameters"]["tz"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            browser?: string;
                            country?: string;
                            first_seen: string;
                            id: string;
                            identified_id?: string;
                            last_seen: string;
                            pageviews: number;
                            sessions: number;
                            traits?: {
                                [key: string]: unknown;
                            };
                        }[];
                        meta: components["schemas"]["Meta"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_track: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    d?: number;
                    e?: {
                        [key: string]: number;
                    };
                    h?: number;
                    id?: string;
                    l?: string;
                    n?: string;
                    p?: {
                        form?: string;
                        url?: string;
                    } & {
                        [key: string]: unknown;
                    };
                    r?: string;
                    s: number;
                    sc?: number;
                    /** @enum {string} */
                    t?: "pageview" | "custom" | "outbound" | "file_download" | "form" | "error" | "web_vitals" | "engagement";
                    tz?: string;
                    u: string;
                    v?: string;
                    vh?: number;
                    vw?: number;
                    w?: number;
                };
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    post_track_batch: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": {
                    d?: number;
                    e?: {
                        [key: string]: number;
                    };
                    h?: number;
                    id?: string;
                    l?: string;
                    n?: string;
                    p?: {
                        form?: string;
                        url?: string;
                    } & {
                        [key: string]: unknown;
                    };
                    r?: string;
                    s: number;
                    sc?: number;
                    /** @enum {string} */
                    t?: "pageview" | "custom" | "outbound" | "file_download" | "form" | "error" | "web_vitals" | "engagement";
                    tz?: string;
                    u: string;
                    v?: string;
                    vh?: number;
                    vw?: number;
                    w?: number;
                }[] | {
                    events: {
                        d?: number;
                        e?: {
                            [key: string]: number;
                        };
                        h?: number;
                        id?: string;
                        l?: string;
                        n?: string;
                        p?: {
                            form?: string;
                            url?: string;
                        } & {
                            [key: string]: unknown;
                        };
                        r?: string;
                        s: number;
                        sc?: number;
                        /** @enum {string} */
                        t?: "pageview" | "custom" | "outbound" | "file_download" | "form" | "error" | "web_vitals" | "engagement";
                        tz?: string;
                        u: string;
                        v?: string;
                        vh?: number;
                        vw?: number;
                        w?: number;
                    }[];
                };
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    get_track_pixel_gif: {
        parameters: {
            query: {
                d?: number;
                e?: string;
                h?: number;
                id?: string;
                l?: string;
                n?: string;
                p?: string;
                r?: string;
                s: number;
                sc?: number;
                t?: "pageview" | "custom" | "outbound" | "file_download" | "form" | "error" | "web_vitals" | "engagement";
                tz?: string;
                u: string;
                v?: string;
                vh?: number;
                vw?: number;
                w?: number;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "image/gif": string;
                };
            };
        };
    };
    delete_visitors_id: {
        parameters: {
            query: {
                site: components["parameters"]["site_"];
            };
            path: {
                id: string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            rows: number;
                            visitor_ids: string[];
                        };
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    get_confirm_email: {
        parameters: {
            query?: {
                lang?: components["parameters"]["lang"];
                token?: components["parameters"]["token"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_confirm_email: {
        parameters: {
            query?: {
                lang?: components["parameters"]["lang"];
                token?: components["parameters"]["token"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    get_healthz: {
        parameters: {
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    get_invitation: {
        parameters: {
            query?: {
                lang?: components["parameters"]["lang"];
                token?: components["parameters"]["token"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_invitation: {
        parameters: {
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    get_metrics: {
        parameters: {
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    get_readyz: {
        parameters: {
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            reason?: string;
                            state: string;
                        };
                    };
                };
            };
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: {
                            reason?: string;
                            state: string;
                        };
                    };
                };
            };
        };
    };
    get_register: {
        parameters: {
            query?: {
                lang?: components["parameters"]["lang"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_register: {
        parameters: {
            query?: {
                lang?: components["parameters"]["lang"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    get_reset_password: {
        parameters: {
            query?: {
                lang?: components["parameters"]["lang"];
                token?: components["parameters"]["token"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_reset_password: {
        parameters: {
            query?: {
                lang?: components["parameters"]["lang"];
                token?: components["parameters"]["token"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    get_sign_in: {
        parameters: {
            query?: {
                lang?: components["parameters"]["lang"];
                next?: components["parameters"]["next"];
                token?: components["parameters"]["token"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    post_sign_in: {
        parameters: {
            query?: {
                lang?: components["parameters"]["lang"];
                next?: components["parameters"]["next"];
                token?: components["parameters"]["token"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
}
