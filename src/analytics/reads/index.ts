import type { Read } from '../query/read.js'
import agentsBreakdown from './agents/breakdown.js'
import agentsCatalog from './agents/catalog.js'
import agentsCoverage from './agents/coverage.js'
import agentsFormats from './agents/formats.js'
import agentsLlmsLinks from './agents/llms-links.js'
import agentsOverview from './agents/overview.js'
import agentsTimeseries from './agents/timeseries.js'
import answersSummary from './answers/summary.js'
import answers from './answers.js'
import bill from './bill.js'
import blankPages from './blank-pages.js'
import citationGapSummary from './citation-gap/summary.js'
import citationGap from './citation-gap.js'
import contentDecay from './content/decay.js'
import editionsSummary from './editions/summary.js'
import editions from './editions.js'
import phantomLinks from './phantom-links.js'
import policyVersions from './policy/versions.js'
import policyViolationsByAgent from './policy/violations/agents.js'
import policyViolationsByPage from './policy/violations/pages.js'
import policyViolationsByRule from './policy/violations/rules.js'
import policyViolations from './policy/violations.js'
import policy from './policy.js'
import breakdown from './stats/breakdown.js'
import changes from './stats/changes.js'
import devices from './stats/devices.js'
import dimensions from './stats/dimensions.js'
import errors from './stats/errors.js'
import events from './stats/events.js'
import funnel from './stats/funnel/id.js'
import goals from './stats/goals.js'
import hours from './stats/hours.js'
import journeySteps from './stats/journeys/steps.js'
import journeys from './stats/journeys.js'
import locations from './stats/locations.js'
import overview from './stats/overview.js'
import pages from './stats/pages.js'
import performance from './stats/performance.js'
import realtime from './stats/realtime.js'
import retention from './stats/retention.js'
import session from './stats/sessions/id.js'
import sessions from './stats/sessions.js'
import sources from './stats/sources.js'
import suspected from './stats/suspected.js'
import timeseries from './stats/timeseries.js'
import visitors from './stats/visitors.js'

/** Every analytics read, in the order in which the API document lists them. */
export const reads: readonly Read[] = [
  overview,
  timeseries,
  realtime,
  pages,
  sources,
  locations,
  devices,
  breakdown,
  changes,
  hours,
  suspected,
  events,
  performance,
  errors,
  journeys,
  journeySteps,
  retention,
  sessions,
  session,
  visitors,
  goals,
  funnel,
  agentsOverview,
  agentsBreakdown,
  agentsTimeseries,
  agentsCoverage,
  agentsFormats,
  agentsLlmsLinks,
  agentsCatalog,
  citationGap,
  citationGapSummary,
  answers,
  answersSummary,
  policy,
  policyVersions,
  policyViolations,
  policyViolationsByAgent,
  policyViolationsByPage,
  policyViolationsByRule,
  contentDecay,
  editions,
  editionsSummary,
  blankPages,
  phantomLinks,
  bill,
  dimensions,
]
