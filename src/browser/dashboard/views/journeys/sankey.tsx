import { type SankeyNode, sankey, sankeyLinkHorizontal } from 'd3-sankey'
import { useRef, useState } from 'preact/hooks'
import { useWidth } from '../../charts/width.js'
import { pressEvents } from '../../parts/buttons.js'
import { isFiltered, toggleFilter } from '../../state/filters.js'
import { formatNumber } from '../../state/format.js'
import { shortPath } from '../../state/path-name.js'
import { quantity } from '../../state/quantity.js'
import { t } from '../../texts/index.js'
import type { JourneyNode, Journeys } from './fold.js'

interface SankeyProps {
  journeys: Journeys
  nameOf: (node: JourneyNode) => string
  label: string
  /** Follows visits from this page on. */
  onFollow: (path: string) => void
}

const NODE_WIDTH = 10
const MIN_STEP_WIDTH = 150
const ROW_HEIGHT = 34

const ORDER: Record<JourneyNode['kind'], number> = { page: 0, other: 1, exit: 2 }

interface Link {
  source: string
  target: string
  value: number
}

/** A node whose step has a name of its own, because the layout writes `depth`. */
type Placed = JourneyNode & { step: number }

/** Lays nodes out by step, and links between them by their sessions. */
function layOut({ nodes, links }: Journeys, width: number, height: number) {
  const place = sankey<Placed, Link>()
    .nodeId(({ id }) => id)
    .nodeAlign(({ step }) => step - 1)
    .nodeWidth(NODE_WIDTH)
    .nodePadding(14)
    .nodeSort((a, b) => ORDER[a.kind] - ORDER[b.kind] || b.sessions - a.sessions)
    .extent([
      [1, 24],
      [width - 1, height - 4],
    ])
  const drawn = new Set(links.flatMap(({ source, target }) => [source, target]))
  return place({
    nodes: nodes.filter(({ id }) => drawn.has(id)).map((node) => ({ ...node, step: node.depth })),
    links: links.map(({ source, target, sessions }) => ({ source, target, value: sessions })),
  })
}

/**
 * The paths of visits as flows between the pages of each step. A click on a page filters by it, with Shift it becomes the
 * first page; arrow keys move between pages. The table has the same numbers.
 */
export function Sankey({ journeys, nameOf, label, onFollow }: SankeyProps) {
  const box = useRef<HTMLDivElement>(null)
  const measured = useWidth(box)
  const [near, setNear] = useState<string>()
  const depths = new Set(journeys.nodes.map(({ depth }) => depth))
  const perStep = [...depths].map((depth) => journeys.nodes.filter((node) => node.depth === depth).length)
  const width = Math.max(measured, depths.size * MIN_STEP_WIDTH)
  const height = Math.max(260, Math.max(0, ...perStep) * ROW_HEIGHT + 30)
  if (measured === 0) return <div ref={box} />
  const { nodes, links } = layOut(journeys, width, height)
  const last = Math.max(...depths)
  const touches = (link: (typeof links)[number]): boolean =>
    [link.source, link.target].some((end: unknown) => isNode(end) && end.id === near)
  return (
    <div class="scroll" ref={box} tabIndex={0} role="group" aria-label={label}>
      <svg class="chart sankey" style={{ width: `${width}px` }} height={height} onKeyDown={moveFocus}>
        {[...depths].map((depth) => (
          <text
            key={depth}
            x={nodes.find(({ step }) => step === depth)?.[depth === last ? 'x1' : 'x0'] ?? 0}
            y="12"
            text-anchor={depth === last ? 'end' : 'start'}
          >
            {t().behaviour.funnels.step(depth)}
          </text>
        ))}
        {links.map((link, i) => (
          <path
            key={i}
            class={near !== undefined && touches(link) ? 'flow near' : 'flow'}
            d={sankeyLinkHorizontal()(link) ?? ''}
            stroke-width={Math.max(1, link.width ?? 1)}
          >
            <title>{`${endName(link.source, nameOf)} → ${endName(link.target, nameOf)}: ${formatNumber(link.value)}`}</title>
          </path>
        ))}
        {nodes.map((node, i) => (
          <StepNode
            key={node.id}
            node={node}
            name={nameOf(node)}
            stepWidth={width / Math.max(1, depths.size - 1)}
            isFirst={i === 0}
            namedBefore={node.step === last && depths.size > 1}
            onNear={setNear}
            onFollow={onFollow}
          />
        ))}
      </svg>
    </div>
  )
}

interface StepNodeProps {
  node: SankeyNode<Placed, Link>
  name: string
  stepWidth: number
  /** The node that the tabulator key reaches. */
  isFirst: boolean
  /** Its name stands before it, because after it the drawing ends. */
  namedBefore: boolean
  onNear: (id: string | undefined) => void
  onFollow: (path: string) => void
}

/** A page of a step, which is a button, or where visits end. */
function StepNode({ node, name, stepWidth, isFirst, namedBefore, onNear, onFollow }: StepNodeProps) {
  const { journeys: texts, funnels } = t().behaviour
  const { id, step, kind, pathname, sessions, x0 = 0, x1 = 0, y0 = 0, y1 = 0 } = node
  const isPage = kind === 'page'
  const words = `${funnels.step(step)}, ${name}: ${quantity('/api/stats/journeys sessions', sessions).text}`
  const leave = () => onNear(undefined)
  const press = pressEvents(({ shiftKey }) => {
    if (isPage && shiftKey) onFollow(pathname)
    else if (isPage) toggleFilter('pathname', pathname)
  })
  return (
    <>
      <g
        class="node"
        data-step={step}
        role={isPage ? 'button' : 'img'}
        tabindex={isFirst ? 0 : -1}
        aria-label={words}
        {...(isPage ? { 'aria-pressed': isFiltered('pathname', pathname) } : {})}
        onMouseEnter={() => onNear(id)}
        onMouseLeave={leave}
        onFocus={() => onNear(id)}
        onBlur={leave}
        {...press}
      >
        <title>{isPage ? `${words}. ${texts.hint}` : words}</title>
        <rect x={x0} y={y0} width={x1 - x0} height={Math.max(1, y1 - y0)} rx="2" class={kind} />
      </g>
      {/* Beside the button and not in it: a cut name would not be in the button's own name. */}
      <text
        class="halo"
        aria-hidden="true"
        x={namedBefore ? x0 - 6 : x1 + 6}
        text-anchor={namedBefore ? 'end' : 'start'}
        y={(y0 + y1) / 2 + 4}
        onMouseEnter={() => onNear(id)}
        onMouseLeave={leave}
        onClick={press.onClick}
      >
        <tspan class={isPage ? 'strong' : ''}>{shorten(name, stepWidth)}</tspan> {formatNumber(sessions)}
      </text>
    </>
  )
}

/** Cuts a name to about half of a step's width, because the names of the last step stand before it. */
function shorten(name: string, stepWidth: number): string {
  const most = Math.max(10, Math.floor(stepWidth / 2 / 7) - 4)
  return shortPath(name, Math.floor(most))
}

/** The name of a link's end: the layout replaces ids by nodes. */
const endName = (end: unknown, nameOf: (node: JourneyNode) => string): string => (isNode(end) ? nameOf(end) : `${end}`)
const isNode = (end: unknown): end is JourneyNode => typeof end === 'object' && end !== null && 'kind' in end

/** Moves the focus by arrow keys: up and down within a step, left and right between steps. */
function moveFocus(event: KeyboardEvent): void {
  const by = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key]
  const now = document.activeElement
  if (!by || !(now instanceof SVGGElement) || !(event.currentTarget instanceof SVGSVGElement)) return
  event.preventDefault()
  const top = (node: Element) => node.getBoundingClientRect().top
  const nodes = [...event.currentTarget.querySelectorAll<SVGGElement>('g.node')]
  const [across = 0, down = 0] = by
  const step = nodes
    .filter(({ dataset }) => Number(dataset.step) === Number(now.dataset.step) + across)
    .sort((a, b) => top(a) - top(b))
  const next = across === 0 ? step[step.indexOf(now) + down] : step[0]
  if (!next) return
  for (const node of nodes) node.tabIndex = node === next ? 0 : -1
  next.focus()
}
